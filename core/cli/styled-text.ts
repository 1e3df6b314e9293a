import type { TextSpan } from '../sdk/points/command.js';
import { printableText } from '../sdk/text.js';

const styles: Readonly<Record<NonNullable<TextSpan['style']>, readonly [string, string]>> = {
  strong: ['\u001b[1m', '\u001b[22m'],
  dim: ['\u001b[2m', '\u001b[22m'],
  mark: ['\u001b[1;33m', '\u001b[22;39m'],
};

/** Text with the colours and links of a terminal. Control characters in the spans are replaced. */
export function styledText(spans: readonly TextSpan[]): string {
  return spans
    .map(({ text, style, file }) => {
      const [on, off] = style === undefined ? ['', ''] : styles[style];
      const shown = `${on}${printableText(text)}${off}`;
      return file === undefined ? shown : linked(shown, file);
    })
    .join('');
}

function linked(text: string, { path, line }: NonNullable<TextSpan['file']>): string {
  const url = `file://${path.split('/').map(encodeURIComponent).join('/')}#L${line}`;
  return `\u001b]8;;${url}\u001b\\${text}\u001b]8;;\u001b\\`;
}
