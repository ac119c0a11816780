import { useEffect } from "react";

interface ShownQuery {
  query: string;
  variables: unknown;
}

const shown = new Set<ShownQuery>();

/** Keeps a query among those of the screen while its component is shown. */
export function useShownQuery(query: string, variables: unknown, isPaused: boolean): void {
  const key = JSON.stringify(variables);
  useEffect(() => {
    if (isPaused) return;
    const entry = { query, variables: JSON.parse(key) as unknown };
    shown.add(entry);
    return () => void shown.delete(entry);
  }, [query, key, isPaused]);
}

/** The queries of the screen, each as a command for a shell in which TOKEN is an access token. */
export function shownQueriesAsCurl(): string {
  const commands = [...shown].map(({ query, variables }) => {
    const body = JSON.stringify({ query: query.replace(/\s+/g, " ").trim(), variables });
    return `curl -s "${location.origin}/graphql" -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '${body.replaceAll("'", "'\\''")}'`;
  });
  return commands.join("\n");
}

/** The address at which GraphiQL opens the queries of the screen, each in a tab. The session of this browser counts there. */
export function shownQueriesInGraphiql(): string {
  const tabs = [...shown].map(({ query, variables }) => ({
    query: query.trim(),
    variables: JSON.stringify(variables, null, 2),
  }));
  return `/graphql#${encodeURIComponent(JSON.stringify(tabs))}`;
}
