/** A sentence of the page itself or of a rule, in which what stands between backticks is shown as code. */
export function Words({ text }: { text: string }) {
  return (
    <>
      {text.split("`").map((part, index) =>
        index % 2 === 1 ? (
          <span key={index} className="mono">
            {part}
          </span>
        ) : (
          part
        ),
      )}
    </>
  );
}
