/** Who is signed in: the token that the session stands for. */
export interface Session {
  tokenId: string;
  tokenName: string;
  scopes: ("read" | "write" | "publish" | "admin")[];
  workspace: string;
}

const URL = "/console/session";

let current: Promise<Session | null> | undefined;
let onEnd = () => {};

/** The session of this browser, asked for once; null when nobody is signed in. */
export function findSession(): Promise<Session | null> {
  current ??= fetchSession();
  return current;
}

async function fetchSession(): Promise<Session | null> {
  const response = await fetch(URL);
  if (!response.ok) throw new Error("Gabbro does not say who is signed in.");
  return ((await response.json()) as { session: Session | null }).session;
}

/** Signs in by a token, or by the code of a link. Gives a sentence that says why not, or null. */
export async function signIn(by: { token: string } | { code: string }): Promise<string | null> {
  try {
    const response = await fetch(URL, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(by),
    });
    current = undefined;
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
