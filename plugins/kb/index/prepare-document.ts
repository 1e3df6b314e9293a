import type { TextAnalysis } from 'mortise/contracts/text-analysis';
import { type Chunk, type ChunkLimits, chunkDocument } from '../documents/chunk-document.js';
import { type FrontMatter, readFrontMatter } from '../documents/front-matter.js';
import { fieldEnd, sentenceEnd } from './token-stream.js';

/** A chunk with its terms, as references to the terms of its document. */
export interface PreparedChunk extends Chunk {
  /** As a token stream, with the index of the term plus 1 instead of its id. */
  readonly stream: Uint32Array;
  /** Number of words or characters, headings included. */
  readonly length: number;
}

/** A document ready to be written: pure data, so that it can be made in another thread. */
export interface PreparedDocument {
  readonly frontMatter: FrontMatter;
  readonly title: string | null;
  readonly chunks: readonly PreparedChunk[];
  /** Distinct terms of all chunks. */
  readonly terms: readonly string[];
}

/** A sentence ends at a sign with a space after it, at a sign of Chinese or Japanese, or at a blank line. */
const endsSentence = /[.!?;]["')\]]*\s|[。！？；]|\n\s*\n/u;

/** Divides and analyses a document. */
export function prepareDocument(
  analysis: TextAnalysis,
  document: { readonly repo: string; readonly path: string; readonly text: string },
  limits: ChunkLimits,
): PreparedDocument {
  const frontMatter = readFrontMatter(document.text);
  const chunks = chunkDocument({ ...document, frontMatterLines: frontMatter.lines }, limits);
  const terms = new Map<string, number>();
  const values: number[] = [];
  const add = (text: string): number => {
    let length = 0;
    let start = -1;
    let end = 0;
    for (const token of analysis.analyse(text)) {
      if (token.start >= end) {
        // Most gaps are one space.
        if (token.start > end + 1 || text.charCodeAt(end) > 0x2fff) {
          if (end > 0 && endsSentence.test(text.slice(end, token.start))) values.push(sentenceEnd);
        }
      }
      let index = terms.get(token.term);
      if (index === undefined) {
        index = terms.size + 1;
        terms.set(token.term, index);
      }
      const isSame = token.start === start;
      if (!isSame) length += 1;
      start = token.start;
      end = Math.max(end, token.end);
      values.push(2 * index + Number(isSame));
    }
    return length;
  };
  const analysed = (text: string): { readonly stream: readonly number[]; readonly length: number } => {
    values.length = 0;
    const length = add(text);
    return { stream: values.slice(), length };
  };
  const path = analysed(document.path).stream;
  const prepared = chunks.map((chunk): PreparedChunk => {
    const heading = analysed(chunk.headingPath.join('\n'));
    const body = analysed(chunk.content);
    const stream = Uint32Array.from([...body.stream, fieldEnd, ...heading.stream, fieldEnd, ...path]);
    return { ...chunk, stream, length: body.length + heading.length };
  });
  const title = frontMatter.title ?? chunks.find(({ headingPath }) => headingPath.length > 0)?.headingPath[0] ?? null;
  return { frontMatter, title, chunks: prepared, terms: [...terms.keys()] };
}
