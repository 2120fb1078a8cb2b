import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize, { defaultSchema } from "rehype-sanitize";
import remarkGfm from "remark-gfm";

const OF_THE_WEB = /^(https?|mailto):/i;
const SCHEMA = { ...defaultSchema, tagNames: (defaultSchema.tagNames ?? []).filter((name) => name !== "img") };

interface Node {
  type: string;
  value?: string;
  children?: Node[];
}

/** Turn HTML into the text that it is: left to the sanitiser, it would be gone without a trace. */
function htmlAsText() {
  return function turn(node: Node): void {
    if (node.type === "raw") node.type = "text";
    node.children?.forEach(turn);
  };
}

const SHOWN: Components = {
  // A link to this server could be made to look like a part of the page, so only links of the web can be followed.
  a: ({ href, children }) =>
    href && OF_THE_WEB.test(href) ? (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={href}>
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
  // An agent's headings are no headings of the page.
  h1: Heading,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  pre: ({ children }) => (
    <pre tabIndex={0} aria-label="Code">
      {children}
    </pre>
  ),
};

function Heading({ children }: { children?: React.ReactNode }) {
  return (
    <p>
      <strong>{children}</strong>
    </p>
  );
}

/** The markdown itself, in a chunk of its own: its parser is as large as the rest of a screen. */
export default function MarkdownBody({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[htmlAsText, [rehypeSanitize, SCHEMA]]} components={SHOWN}>
        {text}
      </ReactMarkdown>
    </div>
  );
}
