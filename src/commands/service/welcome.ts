import type { Config } from "../../config.ts";
import type { Delivery } from "./firstToken.ts";

/** What a start prints for an existing database. */
export function welcomeBack(url: string, config: Config): string {
  return `
Gabbro is ready.${consoleLine(url, config)}${pages(url, config)}
  Another access token: npx gabbro token create --name NAME
`;
}

/** What a start prints for a new database. */
export function welcome(
  url: string,
  config: Config,
  { token, sample, code }: { token: Delivery; sample: "with sample" | "empty"; code: string | null },
): string {
  const next =
    sample === "empty"
      ? "Add the sample with: npx gabbro sample"
      : `Try it:\n${curlLines(url, token.inShell).join("\n")}\n\nRemove the sample with: npx gabbro sample --remove`;
  return `
Gabbro is ready, on a new database.${consoleLine(url, config, code)}${pages(url, config)}
  Access token   ${token.label}

${next}
`;
}

/** The address of the console; with the code of a link, following it signs in. */
function consoleLine(url: string, config: Config, code: string | null = null): string {
  if (!config.console) return "";
  return `
  Console        ${url}/${code === null ? "console" : `console/start#${code}   (signs in once, within a day)`}`;
}

function pages(url: string, { playground }: Config): string {
  return playground
    ? `
  Playground     ${url}/graphql
  REST           ${url}/docs`
    : "";
}

/** One line for each operation, to be copied as it is. */
function curlLines(url: string, token: string): string[] {
  const curl = `curl -s -H "Authorization: Bearer ${token}"`;
  const post = `${curl} -H "Content-Type: application/json"`;
  const row = { values: { question: "Which country has Nairobi as its capital?" }, idealOutput: "Kenya" };
  const record = {
    slug: "country-guide",
    input: "What is the capital of Kenya?",
    output: "Nairobi is the capital of Kenya.",
  };
  return [
    `${curl} "${url}/datasets/country-quiz"`,
    `${post} -d '${JSON.stringify(row)}' "${url}/datasets/country-quiz/items"`,
    `${curl} "${url}/prompts/country-guide/describe?tag=staging"`,
    `${post} -d '${JSON.stringify(record)}' "${url}/monitor/log"`,
  ];
}
