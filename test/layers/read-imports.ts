import { parseSync, Visitor } from 'oxc-parser';

export interface Import {
  readonly specifier: string;
  /** Counted from 1. */
  readonly line: number;
  readonly typeOnly: boolean;
}

/**
 * Every way to name another module: import, export from, import(), import types, import = require(), require(),
 * import.meta.resolve(), new URL() of a relative module, and augmentation (`declare module`). Specifiers built at
 * run time are not found.
 * @throws when the file does not parse
 */
export function readImports(file: string, source: string): readonly Import[] {
  const { program, errors } = parseSync(file, source);
  const [error] = errors;
  if (error) throw new Error(`${file} does not parse: ${error.message}`);
  const found: Import[] = [];
  const add = (node: { readonly value: string; readonly start: number }, typeOnly: boolean) =>
    found.push({ specifier: node.value, line: source.slice(0, node.start).split('\n').length, typeOnly });
  new Visitor({
    ImportDeclaration(node) {
      const eachIsType = node.specifiers.length > 0 && node.specifiers.every((one) => isType(one));
      add(node.source, node.importKind === 'type' || eachIsType);
    },
    ExportAllDeclaration(node) {
      add(node.source, node.exportKind === 'type');
    },
    ExportNamedDeclaration(node) {
      if (node.source) add(node.source, node.exportKind === 'type');
    },
    ImportExpression(node) {
      const name = literal(node.source);
      if (name) add(name, false);
    },
    TSImportType(node) {
      add(node.source, true);
    },
    TSExternalModuleReference(node) {
      add(node.expression, false);
    },
    TSModuleDeclaration(node) {
      if (node.id.type === 'Literal') add(node.id, true);
    },
    CallExpression(node) {
      const callee = source.slice(node.callee.start, node.callee.end);
      if (callee !== 'require' && callee !== 'import.meta.resolve') return;
      const name = node.arguments[0] && literal(node.arguments[0]);
      if (name) add(name, false);
    },
    NewExpression(node) {
      const [path, base] = node.arguments;
      const isBeside = base !== undefined && source.slice(base.start, base.end) === 'import.meta.url';
      const name = isBeside && path ? literal(path) : undefined;
      if (name && /^\.\.?\/.*\.[cm]?[jt]s$/.test(name.value)) add(name, false);
    },
  }).visit(program);
  return found;
}

function isType(specifier: { readonly type: string; readonly importKind?: string }): boolean {
  return specifier.type === 'ImportSpecifier' && specifier.importKind === 'type';
}

/** A string literal, also in backticks. */
function literal(node: {
  readonly type: string;
  readonly start: number;
  readonly value?: unknown;
  readonly quasis?: readonly { readonly value: { readonly cooked: string | null } }[];
}): { readonly value: string; readonly start: number } | undefined {
  if (node.type === 'Literal' && typeof node.value === 'string') return { value: node.value, start: node.start };
  const [only, ...more] = node.quasis ?? [];
  if (only?.value.cooked && more.length === 0) return { value: only.value.cooked, start: node.start };
  return undefined;
}
