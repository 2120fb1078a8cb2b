import { ApiError } from "../api/client";

/** Fetch an address of the API as CSV and save it as a file; throw `ApiError` in the server's own words. */
export async function downloadCsv(url: string, name: string): Promise<void> {
  let answer: Response;
  try {
    answer = await fetch(url, { headers: { Accept: "text/csv" } });
  } catch {
    throw new ApiError(0, "The server cannot be reached.");
  }
  if (!answer.ok) {
    const problem = (await answer.json().catch(() => ({}))) as { detail?: string };
    throw new ApiError(answer.status, problem.detail ?? `The server answered ${answer.status}.`);
  }
  const address = URL.createObjectURL(await answer.blob());
  const link = Object.assign(document.createElement("a"), { href: address, download: `${name}.csv` });
  link.click();
  URL.revokeObjectURL(address);
}

/** An address of the API with those of the parameters that are set. */
export function address(path: string, query: Record<string, string | undefined>): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return `${path}?${new URLSearchParams(given).toString()}`;
}
