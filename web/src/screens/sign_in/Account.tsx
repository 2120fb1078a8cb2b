import { Alert, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { api, body } from "../../api/client";
import { pageOf } from "./returning";
import { useSignedIn } from "./useSignedIn";

/** Where the company's provider sends the browser back to: posts what it says, which stands in the address. */
export function Account() {
  const [failed, setFailed] = useState("");
  const begun = useRef(false);
  const signedIn = useSignedIn();

  useEffect(() => {
    if (begun.current) return; // an answer is good once, and React runs effects twice while one develops
    begun.current = true;
    const said = new URLSearchParams(window.location.search);
    // Out of the address bar and the history before anything else can read it.
    window.history.replaceState(null, "", window.location.pathname);
    const [state, code, iss] = ["state", "code", "iss"].map((name) => said.get(name) ?? "") as [string, string, string];
    const error = code ? "" : said.get("error") || "no answer";
    body(api.POST("/session/provider", { body: { state, code, error, iss } })).then(
      ({ return_to }) => signedIn(pageOf(return_to)),
      (problem: unknown) => setFailed((problem as Error).message),
    );
  }, [signedIn]);

  return (
    <Stack component="main" maw={420} mx="auto" mt={64} px="md">
      <Title order={1}>Sign in to Baton</Title>
      {failed ? (
        <>
          <Alert color="red" variant="outline" role="alert">
            {failed}
          </Alert>
          <Text>
            <Link to="/sign-in">Back to signing in</Link>
          </Text>
        </>
      ) : (
        <Text role="status">Signing you in…</Text>
      )}
    </Stack>
  );
}
