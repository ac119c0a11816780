import { useToast } from "../parts/Toast.tsx";
import { signOut } from "../session.ts";

/** Signs out, or says why that is not possible. */
export function useSignOut(): () => void {
  const toast = useToast();
  return () => void signOut().then((refusal) => refusal && toast(refusal, "failed"));
}
