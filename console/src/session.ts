/** Who is signed in: the token that the session stands for. */
export interface Session {
  tokenId: string;
  tokenName: string;
  scopes: ("read" | "write" | "publish" | "admin")[];
  workspaceId: string;
  workspace: string;
}

const URL = "/console/session";

let current: Promise<Session | null> | undefined;
/** The session whose workspace this page shows. */
let shown: Session | null = null;
let onEnd = () => {};

/** The session of this browser, asked for once; null when nobody is signed in. */
export function findSession(): Promise<Session | null> {
  current ??= fetchSession();
  return current;
}

async function fetchSession(): Promise<Session | null> {
  const response = await fetch(URL);
  if (!response.ok) throw new Error("Gabbro does not say who is signed in.");
  const { session } = (await response.json()) as { session: Session | null };
  shown ??= session;
  if (session && session.workspaceId !== shown?.workspaceId) location.reload(); // nothing here is of that workspace
  return session;
}

/** Says which workspace the page shows: Gabbro refuses it once another tab has signed in to another one. */
export const workspaceHeader = (): Record<string, string> =>
  shown ? { "console-workspace": shown.workspaceId } : {};

/** Signs in by a token, or by the code of a link. Gives a sentence that says why not, or null. */
export async function signIn(by: { token: string } | { code: string }): Promise<string | null> {
  try {
    const response = await fetch(URL, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(by),
    });
    current = undefined;
    if (response.ok) shown = null;
    return response.ok ? null : ((await response.json()) as { error: string }).error;
  } catch {
    return "Gabbro cannot be reached. Try again.";
  }
}

/** Gives a sentence that says why the session goes on, or null when it has ended. */
export async function signOut(): Promise<string | null> {
  try {
    const response = await fetch(URL, { method: "DELETE" });
    if (!response.ok) return "Gabbro did not end the session. Try again.";
  } catch {
    return "Gabbro cannot be reached: you are still signed in.";
  }
  endSession();
  return null;
}

/** Forgets the session, here, as the server did. */
export function endSession(): void {
  current = undefined;
  onEnd();
}

export function whenSessionEnds(callback: () => void): void {
  onEnd = callback;
}
