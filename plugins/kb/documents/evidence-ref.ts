/** The citation of a chunk: `kb:<chunk_id>:<path>#L<start>-L<end>`. */
interface EvidenceRef {
  readonly chunkId: string;
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
}

/** `L45-L68` */
export function lineRange({ startLine, endLine }: Pick<EvidenceRef, 'startLine' | 'endLine'>): string {
  return `L${startLine}-L${endLine}`;
}

export function formatEvidenceRef(ref: EvidenceRef): string {
  return `kb:${ref.chunkId}:${ref.path}#${lineRange(ref)}`;
}

/** A path may contain `#` and `:`, so the ref is read up to its last `#L`. */
const form = /^kb:([a-z0-9_]+):(.+)#L(\d{1,9})-L(\d{1,9})$/su;

/** Undefined for a text that is not an evidence ref. */
export function parseEvidenceRef(text: string): EvidenceRef | undefined {
  const [, chunkId, path, start, end] = form.exec(text) ?? [];
  if (chunkId === undefined || path === undefined) return undefined;
  const ref = { chunkId, path, startLine: Number(start), endLine: Number(end) };
  return ref.startLine >= 1 && ref.endLine >= ref.startLine && !leavesItsRoot(path) ? ref : undefined;
}

/** Whether a path is absolute or has a `..` segment. */
export function leavesItsRoot(path: string): boolean {
  return (
    path.startsWith('/') || path.includes('\0') || /(?:^|[\\/])\.\.(?:[\\/]|$)/.test(path) || /^[a-z]:[\\/]/i.test(path)
  );
}
