import { getRouteApi, useNavigate, useRouter } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import icon from "../../design/icon.svg";
import { Button } from "../../parts/Button.tsx";
import { Form, TextField } from "../../parts/Field.tsx";
import { signIn } from "../../session.ts";
import styles from "./SignIn.module.css";

const route = getRouteApi("/sign-in");

export function SignIn() {
  const { next = "/" } = route.useSearch();
  const router = useRouter();
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [isRunning, setIsRunning] = useState(false);
  const submit = async () => {
    setIsRunning(true);
    const refusal = await signIn({ token: token.trim() });
    setIsRunning(false);
    setProblem(refusal);
    // Only a path of the console, as anybody can make a link to this screen.
    const path = /^\/(?![/\\])/.test(next) ? next : "/";
    if (!refusal) router.history.replace(`/console${path.replace(/^\/console(?=\/|$)/, "")}`);
  };
  return (
    <Frame>
      <h1>Sign in</h1>
      <Form onSubmit={() => void submit()}>
        <TextField
          label="Access token"
          type="password"
          autoComplete="current-password"
          autoFocus
          required
          value={token}
          onChange={(event) => setToken(event.target.value)}
          hint={
            <>
              None yet? Where Gabbro runs: <code>npx gabbro token create --name NAME</code>
            </>
          }
        />
        {problem && (
          <p className={styles.problem} role="alert">
            {problem}
          </p>
        )}
        <Button kind="primary" type="submit" disabled={isRunning || token.trim() === ""}>
          Sign in
        </Button>
      </Form>
    </Frame>
  );
}

/** Exchanges the code of a sign-in link, and removes it from the history of the browser. */
export function Start() {
  const navigate = useNavigate();
  const [problem, setProblem] = useState<string | null>(null);
  const isSent = useRef(false);
  useEffect(() => {
    if (isSent.current) return; // the code counts once
    isSent.current = true;
    const code = location.hash.slice(1);
    history.replaceState(history.state, "", location.pathname);
    void signIn({ code: code || "none" }).then((refusal) => {
      if (refusal) setProblem(refusal);
      else void navigate({ to: "/", replace: true });
    });
  }, [navigate]);
  return (
    <Frame>
      <h1>{problem ? "This link does not work" : "Signing in…"}</h1>
      {problem && (
        <>
          <p className={styles.problem} role="alert">
            {problem}
          </p>
          <Button kind="primary" onClick={() => void navigate({ to: "/sign-in", replace: true })}>
            Sign in with a token
          </Button>
        </>
      )}
    </Frame>
  );
}

function Frame({ children }: { children: ReactNode }) {
  useEffect(() => {
    document.title = "Sign in · Gabbro";
  }, []);
  return (
    <main className={styles.frame}>
      <div className={styles.card}>
        <div className={styles.brand}>
          <img src={icon} alt="" width="28" height="28" />
          Gabbro
        </div>
        {children}
      </div>
    </main>
  );
}
