import type { GateConfig, GateScene, GateSnapshot } from 'mortise/contracts/gate';
import { consoleSessionName } from 'mortise/contracts/sessions';
import schema from './config.schema.json' with { type: 'json' };
import { type Hint, makeHints } from './hint.js';

/** The configuration without a file: the defaults of the schema. Frozen. */
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

/** Checks what the schema cannot express: ordered pairs of values. @returns the first fault as a sentence, or undefined */
export function configFault(config: GateConfig): string | undefined {
  for (const [scene, { deliver_threshold, sink_threshold }] of Object.entries(config.scenes)) {
    if (sink_threshold > deliver_threshold) {
      return `/scenes/${scene}/sink_threshold is ${sink_threshold}: it must not be above deliver_threshold (${deliver_threshold}).`;
    }
  }
  const { thresholds } = config.budgets;
  if (thresholds.medium > thresholds.high) {
    return `/budgets/thresholds/medium is ${thresholds.medium}: it must not be above high (${thresholds.high}).`;
  }
  const { bus_on, bus_off, lag_on_ms, lag_off_ms } = config.overload;
  if (bus_off > bus_on) return `/overload/bus_off is ${bus_off}: it must not be above bus_on (${bus_on}).`;
  if (lag_off_ms > lag_on_ms) {
    return `/overload/lag_off_ms is ${lag_off_ms}: it must not be above lag_on_ms (${lag_on_ms}).`;
  }
  return undefined;
}

interface Keyword {
  readonly text: string;
  readonly weight: number;
  /** Written in a script without spaces: it matches anywhere. */
  readonly anywhere: boolean;
}

/** A snapshot prepared for the stages: lists as sets, words in lower case, precomputed hints. */
export interface CompiledConfig {
  readonly snapshot: GateSnapshot;
  readonly config: GateConfig;
  readonly keywords: readonly Keyword[];
  /** `@` and the bot name, in lower case. */
  readonly botMentions: readonly string[];
  readonly actorWhitelist: ReadonlySet<string>;
  readonly dropSessions: SessionList;
  readonly dropActors: ReadonlySet<string>;
  readonly deliverSessions: SessionList;
  readonly deliverActors: ReadonlySet<string>;
  /** Whether any override list has entries: usually none has, and the lookups are skipped. */
  readonly anyList: boolean;
  readonly windowMs: Readonly<Record<GateScene, number>>;
  readonly maxWindowMs: number;
  hint(scene: GateScene, score: number, emergency: boolean): Hint;
}

/** Sessions by their key, or by the name under which messages are sent to them. */
interface SessionList {
  has(sessionKey: string): boolean;
}

function sessionList(entries: readonly string[]): SessionList {
  const listed = new Set(entries);
  return {
    has(sessionKey) {
      if (listed.size === 0) return false;
      if (listed.has(sessionKey)) return true;
      const name = consoleSessionName(sessionKey);
      return name !== undefined && listed.has(name);
    },
  };
}

const unspaced = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+$/u;

export function compileConfig(snapshot: GateSnapshot): CompiledConfig {
  const { config } = snapshot;
  const { overrides } = config;
  const scenes = Object.entries(config.scenes) as [GateScene, GateConfig['scenes'][GateScene]][];
  const windowMs = Object.fromEntries(
    scenes.map(([scene, { dedup_window_sec }]) => [scene, dedup_window_sec * 1_000]),
  ) as Record<GateScene, number>;
  const { drop_sessions, drop_actors, deliver_sessions, deliver_actors } = overrides;
  return {
    snapshot,
    config,
    keywords: Object.entries(config.scoring.keywords).map(([text, weight]) => ({
      text: text.toLowerCase(),
      weight,
      anywhere: unspaced.test(text),
    })),
    botMentions: config.bot_names.map((name) => `@${name.toLowerCase()}`),
    actorWhitelist: new Set(config.actor_whitelist),
    dropSessions: sessionList(drop_sessions),
    dropActors: new Set(drop_actors),
    deliverSessions: sessionList(deliver_sessions),
    deliverActors: new Set(deliver_actors),
    anyList: drop_sessions.length + drop_actors.length + deliver_sessions.length + deliver_actors.length > 0,
    windowMs,
    maxWindowMs: Math.max(...Object.values(windowMs)),
    hint: makeHints(config),
  };
}
