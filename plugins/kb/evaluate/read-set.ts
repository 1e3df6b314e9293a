import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isJsonObject, MortiseError } from 'mortise/sdk';
import type { Judgements } from './measures.js';

export interface EvaluationSet {
  readonly name: string;
  readonly documents: readonly { readonly id: string; readonly title: string; readonly text: string }[];
  readonly queries: readonly { readonly text: string; readonly judged: Judgements }[];
}

/** A line of a set that cannot be read. */
export function badLine(file: string, line: number, problem: string): MortiseError {
  return new MortiseError('invalid_evaluation_set', `${file}, line ${line}: ${problem}.`, {
    status: 400,
    details: { file, line },
    hint: 'Each line of a .jsonl file is one JSON object, each of qrels.tsv has three columns.',
  });
}

/** A set that cannot be used as a whole. */
export function badSet(problem: string): MortiseError {
  return new MortiseError('invalid_evaluation_set', problem, {
    status: 400,
    hint: 'Name a folder with corpus.jsonl, queries.jsonl and qrels.tsv, or a .jsonl file with queries.',
  });
}

/** The objects of a file with one JSON object per line; blank lines are skipped. @throws MortiseError `invalid_evaluation_set` */
export function readJsonLines(
  file: string,
): readonly { readonly value: Record<string, unknown>; readonly line: number }[] {
  const name = basename(file);
  return readLinesOf(file).flatMap(({ text, line }) => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw badLine(name, line, 'this is not JSON');
    }
    if (!isJsonObject(value)) throw badLine(name, line, 'this is not an object');
    return [{ value, line }];
  });
}

function readLinesOf(file: string): readonly { readonly text: string; readonly line: number }[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    throw badSet(`${basename(file)} cannot be read.`);
  }
  return text
    .split(/\r?\n/)
    .map((line, index) => ({ text: line, line: index + 1 }))
    .filter((one) => one.text.trim() !== '');
}

/** Reads `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` of a folder. @throws MortiseError `invalid_evaluation_set` */
export function readSet(folder: string): EvaluationSet {
  const documents = readJsonLines(join(folder, 'corpus.jsonl')).map(({ value, line }) => {
    const { _id: id, title = '', text } = value;
    if (!isId(id) || typeof text !== 'string' || typeof title !== 'string') {
      throw badLine('corpus.jsonl', line, 'it needs _id, text and, if any, title');
    }
    return { id: String(id), title, text };
  });
  const judged = readJudgements(folder);
  const queries = readJsonLines(join(folder, 'queries.jsonl')).flatMap(({ value, line }) => {
    const { _id: id, text } = value;
    if (!isId(id) || typeof text !== 'string') throw badLine('queries.jsonl', line, 'it needs _id and text');
    const own = judged.get(String(id));
    return own === undefined ? [] : [{ text, judged: own }];
  });
  const name = basename(folder);
  if (queries.length === 0) throw badSet(`No query of ${name} has a judgement.`);
  return { name, documents, queries };
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function readJudgements(folder: string): Map<string, Map<string, number>> {
  const judged = new Map<string, Map<string, number>>();
  for (const { text, line } of readLinesOf(join(folder, 'qrels.tsv'))) {
    const [query = '', document = '', grade = ''] = text.split('\t');
    const value = Number(grade);
    if (line === 1 && !Number.isFinite(value)) continue;
    if (query === '' || document === '' || grade.trim() === '' || !Number.isFinite(value)) {
      throw badLine('qrels.tsv', line, 'it needs a query id, a document id and a number, separated by tabs');
    }
    if (value <= 0) continue;
    const own = judged.get(query) ?? new Map<string, number>();
    own.set(document, value);
    judged.set(query, own);
  }
  return judged;
}
