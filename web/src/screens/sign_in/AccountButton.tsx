import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../../api/client";

/** Goes to the page of the company's provider, where the person says who they are. */
export function AccountButton({ page, failed }: { page: string; failed: (why: string) => void }) {
  const providers = useQuery({ queryKey: ["sign-in-providers"], queryFn: () => body(api.GET("/session/providers")) });
  const [busy, setBusy] = useState(false);

  async function go() {
    setBusy(true);
    failed("");
    try {
      const { url } = await body(api.POST("/session/provider/attempts", { body: { return_to: page } }));
      window.location.assign(url);
    } catch (error) {
      failed((error as Error).message);
      setBusy(false);
    }
  }

  return providers.data?.items.map(({ name }) => (
    <Button key={name} size="md" loading={busy} onClick={() => void go()}>
      Sign in with {name}
    </Button>
  ));
}
