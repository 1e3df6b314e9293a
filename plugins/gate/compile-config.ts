import type { GateConfig, GateScene, GateSnapshot } from 'mortise/contracts/gate';
import { type Hint, makeHints } from './hint.js';

export interface Keyword {
  readonly text: string;
  readonly weight: number;
  /** Made of characters of scripts that are written without spaces: it matches anywhere. */
  readonly anywhere: boolean;
}

/** A snapshot in the form that the stages read: lists as sets, words in lower case, hints made beforehand. */
export interface CompiledConfig {
  readonly snapshot: GateSnapshot;
  readonly config: GateConfig;
  readonly keywords: readonly Keyword[];
  /** `@` and the name, lower case. */
  readonly botMentions: readonly string[];
  readonly actorWhitelist: ReadonlySet<string>;
  readonly dropSessions: ReadonlySet<string>;
  readonly dropActors: ReadonlySet<string>;
  readonly deliverSessions: ReadonlySet<string>;
  readonly deliverActors: ReadonlySet<string>;
  /** Any list is not empty: most of the time none is, and nothing has to be looked up. */
  readonly anyList: boolean;
  readonly windowMs: Readonly<Record<GateScene, number>>;
  readonly longestWindowMs: number;
  hint(scene: GateScene, score: number, emergency: boolean): Hint;
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
    dropSessions: new Set(drop_sessions),
    dropActors: new Set(drop_actors),
    deliverSessions: new Set(deliver_sessions),
    deliverActors: new Set(deliver_actors),
    anyList: drop_sessions.length + drop_actors.length + deliver_sessions.length + deliver_actors.length > 0,
    windowMs,
    longestWindowMs: Math.max(...Object.values(windowMs)),
    hint: makeHints(config),
  };
}
