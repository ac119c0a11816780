import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import { createFinder } from "../database/loader.ts";
import { idsInPage, type Page } from "../database/pages.ts";
import { createPacedReads } from "../database/pauses.ts";
import { inTransaction } from "../database/transaction.ts";
import { badInput, GabbroError, quoted } from "../errors.ts";
import type { FindOwnPrice } from "../usage/usage.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { ModelPrice } from "./entities.ts";
import { normalizeName, type SetModelPriceInput } from "./inputs.ts";

const ANY_PROVIDER = "";
/** Before every time that a call can have. */
const BEGINNING = new Date("0001-01-01T00:00:00.000Z");

/** A workspace's own price of a model; null stands for any provider, and for validity since ever. */
export type OwnPrice = Pick<ModelPrice, "id" | "model" | "inputPrice" | "outputPrice" | "createdAt"> & {
  provider: string | null;
  validFrom: Date | null;
};

/** A page of the workspace's own prices, the latest added first. */
export async function modelPrices(
  context: Context,
  { model, ...page }: Page & { model?: string | null | undefined },
): Promise<OwnPrice[]> {
  authorize(context, "read");
  const { where, options } = idsInPage(page, "desc");
  const prices = await context.em.find(ModelPrice, { ...(model && { model }), ...where }, options);
  return prices.map(toOwnPrice);
}

/** The price with that id; null when the workspace has none. */
export const findModelPrice: (context: Context, id: string) => Promise<OwnPrice | null> = createFinder(
  async (context, ids) => {
    authorize(context, "read");
    return (await context.em.find(ModelPrice, { id: { $in: ids } })).map(toOwnPrice);
  },
);

/** Enough for a hundred models that change ten times. */
const MAX_PRICES = 1_000;

function tooManyPrices(): GabbroError {
  const message = `would be one of more than ${MAX_PRICES} prices of the workspace; delete some first`;
  return badInput([{ path: "model", message }]);
}

/** Sets the price of a model from a time on; replaces a price for the same model, provider and time. */
export async function setModelPrice(context: Context, input: SetModelPriceInput): Promise<OwnPrice> {
  const workspace = authorize(context, "admin");
  const { model, inputPrice, outputPrice } = input;
  const key = { model, provider: input.provider ?? ANY_PROVIDER, validFrom: input.validFrom ?? BEGINNING };
  return inTransaction(context.em, async (em) => {
    let price = await em.findOne(ModelPrice, key);
    const before = price && auditFieldsOf(price);
    if (price) Object.assign(price, { inputPrice, outputPrice });
    else {
      if ((await em.count(ModelPrice, {})) >= MAX_PRICES) throw tooManyPrices();
      const row = { ...key, id: newId(), workspace, inputPrice, outputPrice, createdAt: new Date() };
      price = em.create(ModelPrice, row);
    }
    recordChange(em, context, {
      action: "setModelPrice",
      subject: model,
      before,
      after: auditFieldsOf(price),
    });
    return toOwnPrice(price);
  });
}

/** Deletes a price and returns its id; PRICE_NOT_FOUND when the workspace has none with that id. */
export async function deleteModelPrice(context: Context, { id }: { id: string }): Promise<string> {
  authorize(context, "admin");
  await inTransaction(context.em, async (em) => {
    const price = await em.findOne(ModelPrice, { id });
    if (!price) throw new GabbroError("PRICE_NOT_FOUND", `Price ${quoted(id)} does not exist.`);
    const { model } = price;
    recordChange(em, context, {
      action: "deleteModelPrice",
      subject: model,
      before: auditFieldsOf(price),
      after: null,
    });
    em.remove(price);
  });
  return id;
}

/**
 * Finds the workspace's own prices for the calls of one request. A statement reads one row, as a model may have 1,000 prices: the
 * last of them holds for all calls since it began, which most are, so a model takes one statement. Those for a hundred models of each of
 * 120 requests, in one turn, had others wait for 0.5 s.
 */
export function ownPriceFinder(context: Context, workspaceId: string): FindOwnPrice {
  const last = new Map<string, Promise<DatedPrice | undefined>>();
  const read = createPacedReads(context, workspaceId);
  const find = (asked: Asked) => read(() => findPrice(context, workspaceId, asked));
  return async ({ provider, model }, at) => {
    const name = { model: normalizeName(model), provider: normalizeName(provider ?? ANY_PROVIDER) };
    const key = `${name.model}\n${name.provider}`;
    const found = last.get(key) ?? find(name);
    last.set(key, found);
    const price = await found;
    if (!price || price.validFrom <= at) return price ?? null;
    return (await find({ ...name, at })) ?? null;
  };
}

type Asked = Pick<ModelPrice, "model" | "provider"> & { at?: Date };
type DatedPrice = Pick<ModelPrice, "validFrom" | "inputPrice" | "outputPrice">;

/** The price that holds at a time, or the last: one for a provider before one for any provider, then the latest. */
function findPrice(
  { database }: Context,
  workspaceId: string,
  { model, provider, at }: Asked,
): Promise<DatedPrice | undefined> {
  const prices = database.read
    .selectFrom("ModelPrice")
    .select(["validFrom", "inputPrice", "outputPrice"])
    .where("workspace", "=", workspaceId)
    .where("model", "=", model)
    .where("provider", "in", [provider, ANY_PROVIDER])
    .orderBy("provider", "desc")
    .orderBy("validFrom", "desc")
    .limit(1);
  return (at ? prices.where("validFrom", "<=", at) : prices).executeTakeFirst();
}

function toOwnPrice(price: ModelPrice): OwnPrice {
  const { id, createdAt } = price;
  return { id, ...auditFieldsOf(price), createdAt };
}

function auditFieldsOf({ model, provider, inputPrice, outputPrice, validFrom }: ModelPrice) {
  const since = validFrom.getTime() === BEGINNING.getTime() ? null : validFrom;
  return { model, provider: provider || null, inputPrice, outputPrice, validFrom: since };
}
