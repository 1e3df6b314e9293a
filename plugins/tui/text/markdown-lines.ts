import MarkdownIt from 'markdown-it';
import { cutText, type Line, type Look, padText, type Span, textWidth, wrapSpans } from './wrap-spans.js';

const parser = new MarkdownIt('default', { html: false, linkify: false });
type Token = ReturnType<typeof parser.parse>[number];

/** The prefix of a block's first line, and of its other lines. */
interface Margin {
  readonly first: Line;
  readonly rest: Line;
}

const codeLook: Look = { color: 'yellow' };
const dim: Look = { dim: true };

/** A Markdown text as lines of a terminal. Text that is not Markdown, or an unfinished piece of it, is shown as it is. */
export function markdownLines(text: string, width: number): Line[] {
  const lines: Line[] = [];
  const lists: { readonly ordered: boolean; next: number }[] = [];
  let margins: Margin[] = [];
  let isTight = true;
  const margin = (): Margin => ({
    first: margins.flatMap(({ first }) => first),
    rest: margins.flatMap(({ rest }) => rest),
  });
  /** A list marker precedes only one line. */
  const used = (): void => {
    margins = margins.map(({ rest }) => ({ first: rest, rest }));
  };
  const block = (spans: readonly Span[]): void => {
    const { first, rest } = margin();
    lines.push(...wrapSpans(spans, width, first, rest));
    used();
  };
  const gap = (): void => {
    if (lines.length > 0) lines.push(margin().rest);
  };
  const tokens = parser.parse(text, {});
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token === undefined) break;
    const begins =
      token.level === 0 ||
      (!isTight && token.type === 'paragraph_open' && !tokens[at - 1]?.type.startsWith('list_item'));
    if (begins && token.nesting >= 0 && token.type !== 'inline') gap();
    switch (token.type) {
      case 'bullet_list_open':
      case 'ordered_list_open':
        isTight = true;
        lists.push({ ordered: token.type.startsWith('ordered'), next: Number(token.attrGet('start') ?? 1) });
        break;
      case 'bullet_list_close':
      case 'ordered_list_close':
        lists.pop();
        break;
      case 'list_item_open': {
        const list = lists.at(-1);
        const mark = list?.ordered ? `${list.next++}. ` : '• ';
        margins.push({ first: [{ text: mark, color: 'cyan' }], rest: [{ text: ' '.repeat(textWidth(mark)) }] });
        break;
      }
      case 'blockquote_open':
        margins.push({ first: [{ text: '▎ ', ...dim }], rest: [{ text: '▎ ', ...dim }] });
        break;
      case 'list_item_close':
      case 'blockquote_close':
        margins.pop();
        break;
      case 'heading_open':
        block(inlineSpans(tokens[at + 1], { bold: true, color: 'cyan' }));
        at += 2;
        break;
      case 'inline':
        block(inlineSpans(token, {}));
        break;
      case 'fence':
      case 'code_block': {
        const { rest } = margin();
        for (const line of token.content.replace(/\n$/, '').split('\n')) {
          lines.push(
            ...wrapSpans(
              [{ text: line, ...codeLook }],
              width,
              [...rest, { text: '│ ', ...dim }],
              [...rest, { text: '│ ', ...dim }],
            ),
          );
        }
        used();
        break;
      }
      case 'hr':
        lines.push([...margin().rest, { text: '─'.repeat(Math.max(3, Math.min(40, width - 4))), ...dim }]);
        break;
      case 'table_open': {
        const end = tokens.findIndex((one, index) => index > at && one.type === 'table_close');
        const indent = margin().rest;
        lines.push(...tableLines(tokens.slice(at, end), width).map((line) => [...indent, ...line]));
        at = end;
        break;
      }
    }
  }
  return lines.length === 0 ? [[]] : lines;
}

function inlineSpans(token: Token | undefined, base: Look): Span[] {
  const looks: Look[] = [base];
  const spans: Span[] = [];
  const add = (text: string, look: Look = {}): void => void spans.push({ ...looks.at(-1), ...look, text });
  const open = (look: Look): void => void looks.push({ ...looks.at(-1), ...look });
  for (const part of token?.children ?? []) {
    if (part.type === 'strong_open') open({ bold: true });
    else if (part.type === 'em_open') open({ italic: true });
    else if (part.type === 's_open') open(dim);
    else if (part.type === 'link_open') open({ underline: true, color: 'blue' });
    else if (part.type.endsWith('_close')) {
      looks.pop();
    } else if (part.type === 'softbreak' || part.type === 'hardbreak') add('\n');
    else if (part.type === 'code_inline') add(part.content, codeLook);
    else add(part.content);
  }
  return spans;
}

/** Columns as wide as they need to be; on a narrow terminal the widest are cut. */
function tableLines(tokens: readonly Token[], width: number): Line[] {
  const rows: string[][] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'tr_open') rows.push([]);
    if (token.type === 'inline' && /^t[hd]_open$/.test(tokens[at - 1]?.type ?? ''))
      rows.at(-1)?.push(
        inlineSpans(token, {})
          .map(({ text }) => text)
          .join(''),
      );
  }
  const columns = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => textWidth(row[column] ?? ''))));
  while (columns.reduce((sum, one) => sum + one + 3, 0) > width && Math.max(...columns) > 4) {
    columns[columns.indexOf(Math.max(...columns))] = Math.max(...columns) - 1;
  }
  return rows.flatMap((row, index) => {
    const look: Look = index === 0 ? { bold: true } : {};
    const cells = columns.flatMap((room, column) => [
      ...(column === 0 ? [] : [{ text: ' │ ', ...dim }]),
      { text: padText(cutText(row[column] ?? '', room), room), ...look },
    ]);
    const rule = [{ text: columns.map((room) => '─'.repeat(room)).join('─┼─'), ...dim }];
    return index === 0 ? [cells, rule] : [cells];
  });
}
