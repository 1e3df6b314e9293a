import type { GateConfig } from 'mortise/contracts/gate';
import schema from './config.schema.json' with { type: 'json' };

/** The configuration without a file, made from the defaults of the schema. Frozen. */
export function defaultConfig(): GateConfig {
  return defaultsOf(schema) as GateConfig;
}

function defaultsOf(schema: unknown): unknown {
  const { default: value, properties } = schema as { default?: unknown; properties?: Record<string, unknown> };
  if (value !== undefined) return frozen(structuredClone(value));
  const members = Object.entries(properties ?? {}).map(([name, inner]) => [name, defaultsOf(inner)] as const);
  return Object.freeze(Object.fromEntries(members));
}

function frozen(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? Object.freeze(value) : value;
}
