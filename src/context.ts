import type { Database, EntityManager } from "./database/open.ts";
import type { ErrorCode } from "./errors.ts";
import type { AnswerBudget } from "./limits/answerBudget.ts";
import type { Deadline } from "./limits/deadline.ts";
import type { Scope } from "./scopes.ts";

/** What every resolver receives: the way to the data and who is asking. */
export interface Context {
  database: Database;
  /** The unit of work of this request; its reads are held to the workspace of `access`. */
  em: EntityManager;
  /** Null when the request came without a token; only `authorize`, and what keeps answers, read it. */
  access: Access | null;
  /** Asks once more what the token stands for: an answer that goes on for long must end with it. Throws when it did. */
  reauthenticate: () => Promise<Access | null>;
  /** What takes longer is given up; shared by all that works for the request. */
  deadline: Deadline;
  /** How much may still be read for the answer. */
  answerBudget: AnswerBudget;
  /** Set by GraphQL: the field that was asked for, once the operation is known to be valid. */
  topField?: string;
  /** Set by GraphQL: the code of the first error of the answer. */
  errorCode?: ErrorCode;
}

/** What a valid token stands for. */
export interface Access {
  /** Null on the command line, which needs no token. */
  tokenId: string | null;
  tokenName: string;
  workspaceId: string;
  scopes: Scope[];
}
