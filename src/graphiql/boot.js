// Runs in the browser, after GraphiQL itself.
const root = document.querySelector("#graphiql");
const tokenInput = document.querySelector("#token");
const revealButton = document.querySelector("#reveal");
const tokenKey = "gabbro:token";
const MAX_OPENED_TABS = 20;
const TAB_STATE = "graphiql:tabState";

tokenInput.value = sessionStorage.getItem(tokenKey) ?? "";
tokenInput.addEventListener("input", () => sessionStorage.setItem(tokenKey, token()));
document.querySelector("#access").addEventListener("submit", (event) => event.preventDefault());
revealButton.addEventListener("click", () => {
  const reveal = tokenInput.type === "password";
  tokenInput.type = reveal ? "text" : "password";
  revealButton.textContent = reveal ? "Hide" : "Show";
  revealButton.setAttribute("aria-pressed", String(reveal));
});

const workers = JSON.parse(root.dataset.workers);
window.MonacoEnvironment = {
  globalAPI: false,
  getWorkerUrl: (_module, label) => new URL(workers[label], document.baseURI).href,
};

// Asking the server for its schema needs a token, and documentation and completion should be there before one is typed in.
const fetchFromServer = window.fetch;
window.fetch = (address, options) =>
  isIntrospection(options)
    ? fetchFromServer(new URL(root.dataset.introspection, document.baseURI))
    : fetchFromServer(address, options);

const examples = JSON.parse(root.dataset.examples);
openTabsOfAddress();
const openTab = findTabs()?.active ?? examples[0];

if (window.YogaGraphiQL) {
  window.YogaGraphiQL.renderYogaGraphiQL(root, {
    title: "Gabbro",
    defaultTabs: examples,
    initialQuery: openTab.query ?? "",
    initialVariables: openTab.variables ?? "",
    additionalHeaders: authorization,
    // A token typed into the headers editor must not outlive the page either.
    shouldPersistHeaders: false,
    // In place of writing every keystroke into the address, which a server's log or a referrer would then hold.
    onEditQuery() {},
  });
} else {
  root.textContent = "The playground did not load. Reload the page to try again.";
}

// The console names the queries of a screen behind the #, which browsers send to no server. Anybody can make such a link, so
// it opens queries alone: nothing that changes anything waits there for a click.
function openTabsOfAddress() {
  if (location.hash.length < 2) return;
  const added = queriesOf(location.hash.slice(1)).map(toTab);
  history.replaceState(null, "", location.pathname);
  if (added.length === 0) return;
  // By what they ask: a tab of the same name may hold what its reader has written.
  const isOther = (tab) =>
    added.every(({ query, variables }) => tab.query !== query || (tab.variables ?? "") !== variables);
  const kept = (findTabs()?.all ?? examples.map(toTab)).filter(isOther);
  const state = { tabs: [...kept, ...added], activeTabIndex: kept.length };
  localStorage.setItem(TAB_STATE, JSON.stringify(state));
}

function queriesOf(fragment) {
  try {
    const queries = JSON.parse(decodeURIComponent(fragment)).slice(0, MAX_OPENED_TABS);
    return queries.every(isQuery) ? queries : [];
  } catch {
    return [];
  }
}

function isQuery({ query, variables }) {
  const isText = typeof query === "string" && typeof variables === "string";
  return isText && /^\s*(?:query|fragment)\b/.test(query) && !/\b(?:mutation|subscription)\b/.test(query);
}

function toTab({ query, variables }) {
  const title = query.match(/^\s*(?:query|mutation|subscription)\s+(\w+)/)?.[1] ?? "<untitled>";
  const rest = { headers: null, operationName: null, response: null };
  return { id: crypto.randomUUID(), title, query, variables, ...rest };
}

// GraphiQL keeps its tabs, yet opens an empty one more at each visit unless it is told the content of the one to open.
function findTabs() {
  try {
    const { tabs, activeTabIndex } = JSON.parse(localStorage.getItem(TAB_STATE));
    return { all: tabs, active: tabs[activeTabIndex] };
  } catch {
    return undefined;
  }
}

function isIntrospection(options) {
  return typeof options?.body === "string" && JSON.parse(options.body).operationName === "IntrospectionQuery";
}

function authorization(request) {
  if (!token()) return {};
  const own = Object.keys(request?.extensions?.headers ?? {});
  const isSet = own.some((name) => name.toLowerCase() === "authorization");
  return isSet ? {} : { authorization: `Bearer ${token()}` };
}

function token() {
  return tokenInput.value.trim().replace(/^bearer\s+/i, "");
}
