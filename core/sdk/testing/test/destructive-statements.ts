import { parseSync, Visitor } from 'oxc-parser';

type Node = { readonly type: string; readonly start: number; readonly end: number };

/** Destructive statements on one line. A `delete` followed by `where` is not one. */
const lines = [
  /\btruncate\s+(table\s+)?["{`$a-z]/i,
  /\bdrop\s+(table|schema|database)\b/i,
  /\bdelete\s+from\s+[^\s'"`]+\s*(?:['"`;]|$)/im,
  /\.(truncate|dropTable|dropTableIfExists|dropSchema)\(/,
];

/** Whether a complete statement, possibly split over lines and string parts, is destructive. */
const isDestructive = (statement: string): boolean =>
  /\btruncate\s+(table\s+)?["{`$a-z]/i.test(statement) ||
  /\bdrop\s+(table|schema|database)\b/i.test(statement) ||
  /\bdelete\s+from\s+\S(?!.*\bwhere\b)/is.test(statement);

const emptying = new Set(['truncate', 'dropTable', 'dropTableIfExists', 'dropSchema']);
const removing = new Set(['del', 'delete']);

/** @returns the lines on which a statement that empties or drops a table begins */
export function destructiveStatements(file: string, source: string): readonly string[] {
  const rows = source.split('\n');
  const found = new Set(rows.flatMap((row, index) => (lines.some((one) => one.test(row)) ? [index] : [])));
  const rowOf = (offset: number): number => source.slice(0, offset).split('\n').length - 1;
  const add = ({ start, end }: Node): void => {
    const first = rowOf(start);
    for (let row = first; row <= rowOf(end); row += 1) if (found.has(row)) return;
    found.add(first);
  };

  const { program, errors } = parseSync(file, source);
  const [error] = errors;
  if (error) throw new Error(`${file} does not parse: ${error.message}`);
  /** Parts of texts that were already checked as a whole. */
  const judged = new Set<number>();
  const judge = (node: Node): void => {
    if (judged.has(node.start)) return;
    const pieces = piecesOf(node, source);
    for (const { start } of pieces) judged.add(start);
    const text = pieces.map((piece) => piece.text).join('');
    if (text.split(';').some(isDestructive)) add(node);
  };
  new Visitor({
    BinaryExpression(node) {
      if (node.operator === '+') judge(node);
    },
    Literal: judge,
    TemplateLiteral: judge,
    CallExpression({ callee, arguments: given }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
      const { name } = callee.property;
      const chain = source.slice(callee.object.start, callee.object.end);
      if (emptying.has(name)) add(callee.property);
      // On a map or set this removes one member; on a query without arguments it deletes all matching rows.
      if (removing.has(name) && given.length === 0 && !/\.(where|andWhere)\w*\(/.test(chain)) add(callee.property);
    },
  }).visit(program);
  return [...found].sort((a, b) => a - b).map((index) => rows[index]?.trim() ?? '');
}

interface Piece {
  readonly start: number;
  readonly text: string;
}

/** The parts of a text; interpolated values count as a name. */
function piecesOf(node: Node, source: string): readonly Piece[] {
  const { start } = node;
  if (node.type === 'BinaryExpression') {
    const { left, right } = node as Node & { readonly left: Node; readonly right: Node };
    return [{ start, text: '' }, ...piecesOf(left, source), ...piecesOf(right, source)];
  }
  if (node.type === 'TemplateLiteral') {
    const { quasis } = node as Node & {
      readonly quasis: readonly { readonly value: { readonly cooked: string | null } }[];
    };
    return [{ start, text: quasis.map(({ value }) => value.cooked ?? '').join('$name') }];
  }
  if (node.type === 'Literal') {
    const { value } = node as Node & { readonly value: unknown };
    return [{ start, text: typeof value === 'string' ? value : '' }];
  }
  return [{ start, text: '$name' }];
}
