/**
 * The names that a parsed template may read from outside, in order of their first appearance. A name that is set in one
 * branch only may be read from outside after it.
 */
export function freeNames(program: object): string[] {
  const outermost: Scope = { bound: BUILT_INS, outer: null, free: new Set(), hoisted: new Set() };
  const scope = within(outermost, []);
  // A macro runs after the text around it, so it also sees names that are set further down.
  for (const node of (program as { body: Node[] }).body) {
    for (const name of namesOf(node.type === "Macro" ? node.name : node.assignee)) scope.hoisted.add(name);
  }
  visit(program, scope);
  return [...scope.free];
}

/** The names that the library defines in every template; it refuses values for them. */
export const BUILT_INS: ReadonlySet<string> = new Set([
  "true",
  "false",
  "none",
  "True",
  "False",
  "None",
  "range",
  "namespace",
  "raise_exception",
  "strftime_now",
]);

/** The library's tree is walked by its fields: its classes are not exported. */
interface Node {
  type: string;
  [field: string]: unknown;
}

interface Scope {
  bound: ReadonlySet<string>;
  outer: Scope | null;
  free: Set<string>;
  hoisted: Set<string>;
}

interface OwnScope extends Scope {
  bound: Set<string>;
}

function within(outer: Scope, names: string[]): OwnScope {
  return { ...outer, bound: new Set(names), outer };
}

function visit(part: unknown, scope: OwnScope): void {
  if (Array.isArray(part)) for (const item of part) visit(item, scope);
  else if (part instanceof Map) for (const pair of part) visit(pair, scope);
  else if (isNode(part)) (visitors[part.type] ?? visitFields)(part, scope);
}

function isNode(part: unknown): part is Node {
  return typeof part === "object" && part !== null && "type" in part;
}

function visitFields(node: Node, scope: OwnScope): void {
  for (const field of Object.values(node)) visit(field, scope);
}

const visitors: Record<string, (node: Node, scope: OwnScope) => void> = {
  Identifier: ({ value }, scope) => read(value as string, scope),
  // An operator is a token: `and` looks like a name.
  BinaryExpression: ({ left, right }, scope) => visit([left, right], scope),
  UnaryExpression: ({ argument }, scope) => visit(argument, scope),
  Ternary: ({ trueExpr, condition, falseExpr }, scope) => visit([trueExpr, condition, falseExpr], scope),
  MemberExpression: ({ object, property, computed }, scope) =>
    visit(computed ? [object, property] : object, scope),
  KeywordArgumentExpression: ({ value }, scope) => visit(value, scope),
  TestExpression: ({ operand }, scope) => visit(operand, scope),
  FilterExpression: ({ operand, filter }, scope) => visit([operand, (filter as Node).args], scope),
  FilterStatement: ({ filter, body }, scope) => visit([(filter as Node).args, body], scope),
  Set: ({ assignee, value, body }, scope) => {
    visit([value, body], scope);
    const names = namesOf(assignee);
    if (names.length === 0) visit(assignee, scope); // `ns.count` reads `ns`.
    for (const name of names) scope.bound.add(name);
  },
  If: ({ test, body, alternate }, scope) => {
    visit(test, scope);
    const [one, other] = [within(scope, []), within(scope, [])];
    visit(body, one);
    visit(alternate, other);
    for (const name of one.bound.intersection(other.bound)) scope.bound.add(name);
  },
  For: ({ loopvar, iterable, body, defaultBlock }, scope) => {
    const inner = within(scope, ["loop", ...namesOf(loopvar)]);
    const { type, lhs, test } = iterable as Node;
    visit(type === "SelectExpression" ? lhs : iterable, scope);
    if (type === "SelectExpression") visit(test, inner);
    visit(body, inner);
    visit(defaultBlock, within(scope, []));
  },
  Macro: ({ name, args, body }, scope) => {
    for (const own of namesOf(name)) scope.bound.add(own);
    const around = { ...scope, bound: scope.hoisted, outer: scope };
    visitCallable(args, body, within(around, ["caller"]));
  },
  CallStatement: ({ call, callerArgs, body }, scope) => {
    visit(call, scope);
    visitCallable(callerArgs, body, within(scope, []));
  },
};

function visitCallable(parameters: unknown, body: unknown, scope: OwnScope): void {
  for (const name of ["kwargs", "varargs", ...namesOf(parameters)]) scope.bound.add(name);
  visit([parameters, body], scope);
}

function read(name: string, scope: Scope): void {
  for (let at: Scope | null = scope; at; at = at.outer) if (at.bound.has(name)) return;
  scope.free.add(name);
}

/** The names that the target of a `set`, a `for` or a parameter binds. */
function namesOf(target: unknown): string[] {
  if (Array.isArray(target)) return target.flatMap(namesOf);
  if (!isNode(target)) return [];
  if (target.type === "Identifier") return [target.value as string];
  if (target.type === "TupleLiteral") return namesOf(target.value);
  return target.type === "KeywordArgumentExpression" ? namesOf(target.key) : [];
}
