// Runs in the browser, after GraphiQL itself.
const root = document.querySelector("#graphiql");
const tokenInput = document.querySelector("#token");
const revealButton = document.querySelector("#reveal");
const tokenKey = "gabbro:token";

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
const openTab = findOpenTab() ?? examples[0];

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

// GraphiQL keeps its tabs, yet opens an empty one more at each visit unless it is told the content of the one to open.
function findOpenTab() {
  try {
    const { tabs, activeTabIndex } = JSON.parse(localStorage.getItem("graphiql:tabState"));
    return tabs[activeTabIndex];
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
