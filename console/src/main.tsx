import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./design/tokens.css";
import "./design/base.css";
import { Toasts } from "./parts/Toast.tsx";
import { router } from "./router.ts";
import { findSession, whenSessionEnds } from "./session.ts";

// Takes what the page has begun to fetch, also on a screen that does not ask for it.
findSession().catch(() => {});
whenSessionEnds(() => {
  const { pathname, searchStr } = router.latestLocation;
  if (pathname === "/sign-in") return; // several answers may say that the session has ended
  void router.navigate({ to: "/sign-in", search: { next: pathname + searchStr }, replace: true });
});

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Toasts>
      <RouterProvider router={router} />
    </Toasts>
  </StrictMode>,
);
