import { Component, lazy, memo, type ReactNode, Suspense } from "react";

/** Characters of a text that are shown as markdown; a longer one is shown as it is, so that no text can stop the page. */
export const LONGEST_MARKDOWN = 32_000;
/** Quotes and lists within each other, so many that they mean nothing: parsing them takes a page's whole stack, or minutes. */
const TOO_DEEP = /^(?:[ \t]*[>*+-][ \t]){50}|^[ \t]*>{50}/m;

const MarkdownBody = lazy(() => import("./MarkdownBody"));

/** What an agent wrote, as markdown: links of the web alone, no images, no HTML, nothing that runs. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const plain = <pre className="agent-text">{text}</pre>;
  if (text.length > LONGEST_MARKDOWN || TOO_DEEP.test(text)) return plain;
  return (
    <Fallback key={text.length} plain={plain}>
      <Suspense fallback={plain}>
        <MarkdownBody text={text} />
      </Suspense>
    </Fallback>
  );
});

/** Shows a text as it is if it cannot be shown as markdown: one that is nested too deeply exhausts the stack. */
class Fallback extends Component<{ plain: ReactNode; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? this.props.plain : this.props.children;
  }
}
