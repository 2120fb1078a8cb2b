import { Alert, Button, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { api, body } from "../../api/client";
import { AccountButton } from "./AccountButton";
import { wantedPage } from "./returning";
import { useSignedIn } from "./useSignedIn";

/** Signs this browser in: with the company's account, by the link's code, which stands behind the `#`, or by a token. */
export function SignIn() {
  const [token, setToken] = useState("");
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  const begun = useRef("");
  const signedIn = useSignedIn();

  async function signIn(proof: { code: string } | { token: string }) {
    setBusy(true);
    setFailed("");
    const page = wantedPage();
    try {
      await body(api.POST("/session", { body: { code: "", token: "", ...proof } }));
      signedIn(page);
    } catch (error) {
      setFailed((error as Error).message);
    } finally {
      setBusy(false);
    }
  }

  useEffect(() => {
    function useLink() {
      const code = window.location.hash.slice(1);
      if (!code || begun.current === code) return;
      begun.current = code; // a link is good once, and React runs effects twice while one develops
      // Out of the address bar and the history before anything else can read it.
      window.history.replaceState(null, "", window.location.pathname + window.location.search);
      void signIn({ code });
    }
    useLink();
    window.addEventListener("hashchange", useLink);
    return () => window.removeEventListener("hashchange", useLink);
  }, []);

  return (
    <Stack component="main" maw={420} mx="auto" mt={64} px="md">
      <Title order={1}>Sign in to Baton</Title>
      {failed && (
        <Alert color="red" variant="outline" role="alert">
          {failed}
        </Alert>
      )}
      <AccountButton page={wantedPage()} failed={setFailed} />
      <Text>
        On the server's machine, <code>baton open</code> signs you in with a link.
      </Text>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void signIn({ token: token.trim() });
        }}
      >
        <Stack>
          <PasswordInput
            label="Or with your token"
            description="A person's token, not a hook token."
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
            autoComplete="off"
            visibilityToggleButtonProps={{ "aria-label": "Show or hide the token", style: { color: "var(--muted)" } }}
          />
          <Button type="submit" variant="default" loading={busy} disabled={!token.trim()}>
            Sign in
          </Button>
        </Stack>
      </form>
    </Stack>
  );
}
