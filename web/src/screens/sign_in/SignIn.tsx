import { Alert, Button, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { api, body } from "../../api/client";
import { restartStream } from "../../api/stream";

/** Signs this browser in: by the link's code, which stands behind the `#`, or by a token. */
export function SignIn() {
  const [token, setToken] = useState("");
  const [failed, setFailed] = useState("");
  const [busy, setBusy] = useState(false);
  const begun = useRef("");
  const queries = useQueryClient();
  const navigate = useNavigate();

  async function signIn(proof: { code: string } | { token: string }) {
    setBusy(true);
    setFailed("");
    try {
      await body(api.POST("/session", { body: { code: "", token: "", ...proof } }));
      queries.clear();
      restartStream();
      await navigate({ to: "/", replace: true });
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
      window.history.replaceState(null, "", window.location.pathname);
      void signIn({ code });
    }
    useLink();
    window.addEventListener("hashchange", useLink);
    return () => window.removeEventListener("hashchange", useLink);
  }, []);

  return (
    <Stack maw={420} mx="auto" mt={64} px="md">
      <Title order={1}>Sign in to Baton</Title>
      {failed && (
        <Alert color="red" variant="outline" role="alert">
          {failed}
        </Alert>
      )}
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
            description="A token of a person, not one of hooks."
            value={token}
            onChange={(event) => setToken(event.currentTarget.value)}
            autoComplete="off"
          />
          <Button type="submit" loading={busy} disabled={!token.trim()}>
            Sign in
          </Button>
        </Stack>
      </form>
    </Stack>
  );
}
