import { Drawer, Loader } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { decisionQuery } from "../../api/queries";
import { Failed } from "../Failed";

const DecisionDetails = lazy(() => import("./DecisionDetails").then((module) => ({ default: module.DecisionDetails })));

/** One decision, whole. */
export function DecisionDrawer({ id, close }: { id: string | undefined; close: () => void }) {
  return (
    <Drawer
      opened={id !== undefined}
      onClose={close}
      position="right"
      size="xl"
      title="Decision"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {id && <Loaded key={id} id={id} />}
    </Drawer>
  );
}

function Loaded({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(decisionQuery(id));
  if (!data) return error ? <Failed error={error} again={() => void refetch()} /> : <Loader aria-label="Loading" />;
  return (
    <Suspense fallback={<Loader aria-label="Loading" />}>
      <DecisionDetails one={data} />
    </Suspense>
  );
}
