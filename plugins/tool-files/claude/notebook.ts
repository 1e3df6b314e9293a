import type { WorkspaceFiles } from 'mortise/contracts/tool-files';
import { isJsonObject, newUlid } from 'mortise/sdk';
import { invalidInput } from '../errors.js';

export interface NotebookEdit {
  readonly notebook_path: string;
  readonly new_source: string;
  readonly cell_id?: string;
  readonly cell_type?: 'code' | 'markdown';
  readonly edit_mode?: 'replace' | 'insert' | 'delete';
}

type Cell = Readonly<Record<string, unknown>>;

interface Notebook {
  readonly real: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly cells: readonly Cell[];
  /** Of the file, so that an edit changes as few lines as possible. */
  readonly indent: string | number;
}

/** The cells of a notebook with their ids. Outputs are left out. */
export async function readNotebook(path: string, files: WorkspaceFiles) {
  const { cells } = await openNotebook(path, 'read', files);
  const shown = cells.map((cell, index) => ({
    id: idOf(cell, index),
    type: String(cell.cell_type ?? 'code'),
    source: sourceOf(cell),
  }));
  const text = shown.map(({ id, type, source }) => `<cell id="${id}" type="${type}">\n${source}\n</cell>`).join('\n');
  return { ok: true, path, cells: shown, text: text === '' ? `NotebookRead ${path} [empty]` : text };
}

/** Replaces a cell, inserts one behind it, or deletes it. Without an id an insert comes first. */
export function editNotebook(edit: NotebookEdit, files: WorkspaceFiles) {
  const { notebook_path: path, cell_id: cellId, edit_mode: mode = 'replace' } = edit;
  return files.exclusive(async () => {
    const { real, document, cells, indent } = await openNotebook(path, 'write', files);
    const index = cellId === undefined ? -1 : cells.findIndex((cell, at) => idOf(cell, at) === cellId);
    if (index < 0 && (mode !== 'insert' || cellId !== undefined)) {
      throw invalidInput(cellId === undefined ? 'cell_id is required' : 'the notebook has no cell with this cell_id');
    }
    const changed = changedCells(cells, index, mode, edit);
    await files.commit([{ real, content: `${JSON.stringify({ ...document, cells: changed }, null, indent)}\n` }]);
    return {
      ok: true,
      path,
      cells: changed.length,
      text: `NotebookEdit ${path} ok (${mode}, cells=${changed.length})`,
    };
  });
}

function changedCells(
  cells: readonly Cell[],
  index: number,
  mode: NonNullable<NotebookEdit['edit_mode']>,
  { new_source: source, cell_type: type }: NotebookEdit,
): readonly Cell[] {
  if (mode === 'delete') return cells.toSpliced(index, 1);
  const old = cells[index] ?? {};
  if (mode === 'insert') return cells.toSpliced(index + 1, 0, newCell(type ?? 'code', source));
  const isCode = (type ?? old.cell_type) === 'code';
  const { outputs: _, execution_count: __, ...rest } = old;
  const run = isCode ? { outputs: [], execution_count: null } : {};
  return cells.with(index, {
    ...rest,
    cell_type: type ?? old.cell_type ?? 'code',
    source: linesWithEnds(source),
    ...run,
  });
}

function newCell(type: 'code' | 'markdown', source: string): Cell {
  const run = type === 'code' ? { outputs: [], execution_count: null } : {};
  return { id: newUlid().toLowerCase(), cell_type: type, metadata: {}, source: linesWithEnds(source), ...run };
}

async function openNotebook(path: string, access: 'read' | 'write', files: WorkspaceFiles): Promise<Notebook> {
  const { real, text } = await files.readText(path, access);
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    throw invalidInput('the file is not a Jupyter notebook');
  }
  if (!isJsonObject(document) || !Array.isArray(document.cells) || !document.cells.every(isJsonObject)) {
    throw invalidInput('the file is not a Jupyter notebook');
  }
  const indent = /^\{\r?\n([ \t]+)/.exec(text)?.[1] ?? 1;
  return { real, document, cells: document.cells, indent };
}

/** Notebooks of format 4.4 and older have no ids: a cell is named by its position. */
function idOf(cell: Cell, index: number): string {
  return typeof cell.id === 'string' ? cell.id : `cell-${index}`;
}

function sourceOf({ source }: Cell): string {
  return Array.isArray(source) ? source.join('') : String(source ?? '');
}

function linesWithEnds(source: string): readonly string[] {
  return source.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
