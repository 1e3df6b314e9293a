/** A figure with its target. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** For example `>= 4000`. Absent for a figure that is only a comparison. */
  readonly target?: string;
}

export interface MeasureOptions {
  /** Length of one round, seconds. */
  readonly seconds: number;
  readonly rounds: number;
  /** Folder with the peer libraries. */
  readonly peers?: string | undefined;
  /** Reports progress. */
  readonly say: (line: string) => void;
}

/** Measures one thing, with its peers in interleaved rounds. */
export type Measure = (options: MeasureOptions) => Promise<readonly Figure[]>;

const comparisons: Readonly<Record<string, (value: number, limit: number) => boolean>> = {
  '>=': (value, limit) => value >= limit,
  '<=': (value, limit) => value <= limit,
};

/** Whether a figure meets its target; undefined without one. */
export function isMet({ value, target }: Figure): boolean | undefined {
  const [sign = '', limit = ''] = target?.split(' ') ?? [];
  return comparisons[sign]?.(value, Number(limit));
}

export function figureLine(figure: Figure): string {
  const { name, value, unit, target } = figure;
  const shown = value >= 100 ? value.toFixed(0) : value.toFixed(2);
  const met = isMet(figure);
  const verdict = met === undefined ? '' : `  (${target}: ${met ? 'met' : 'missed'})`;
  return `${name.padEnd(58)} ${shown.padStart(9)} ${unit}${verdict}`;
}
