import type { Dialect } from '../sdk/host/database.js';
import { databaseError } from './errors.js';

/** The schema of the platform's own tables. */
export const hostSchema = 'mortise';

const schemaName = /^[a-z_][a-z0-9_]{0,62}$/;
const tableName = /^[a-z_][a-z0-9_]{0,62}$/;
const placeholder = /\{([a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*)\}/g;

/** Maps the logical tables of one plugin to physical ones. */
export interface Names {
  /** Logical schemas of the plugin, in the order declared. */
  readonly schemas: readonly string[];
  physicalSchema(schema: string): string;
  /** @throws MortiseError `schema_not_declared` */
  table(name: string): string;
  /** Replaces every `{schema.table}`; results are cached. */
  expand(sql: string): string;
}

/**
 * @param renamed physical schema names that differ from the logical ones (PostgreSQL only).
 * @throws MortiseError `schema_reserved`
 */
export function tableNames(
  plugin: string,
  dialect: Dialect,
  schemas: readonly string[],
  renamed: Readonly<Record<string, string>> = {},
): Names {
  for (const schema of schemas) {
    const free = schema !== hostSchema || plugin === hostSchema;
    if (!free || !schemaName.test(schema) || schema === 'public' || schema.startsWith('pg_')) {
      throw databaseError('schema_reserved', { plugin, name: schema });
    }
  }
  const known = new Map<string, string>();
  const expanded = new Map<string, string>();

  const physicalSchema = (schema: string): string => renamed[schema] ?? schema;

  const table = (name: string): string => {
    const cached = known.get(name);
    if (cached !== undefined) return cached;
    const [schema = '', bare = '', ...rest] = name.split('.');
    if (rest.length > 0 || !schemas.includes(schema) || !tableName.test(bare)) {
      throw databaseError('schema_not_declared', { plugin, name });
    }
    const physical = dialect === 'postgres' ? `${physicalSchema(schema)}.${bare}` : `${schema}_${bare}`;
    known.set(name, physical);
    return physical;
  };

  const expand = (sql: string): string => {
    const cached = expanded.get(sql);
    if (cached !== undefined) return cached;
    const text = sql.replace(placeholder, (_, name: string) => table(name));
    if (expanded.size >= 2_000) expanded.clear();
    expanded.set(sql, text);
    return text;
  };

  return { schemas, physicalSchema, table, expand };
}
