/** Generated from config.schema.json by `npm run generate`. Do not edit. */

export interface Config {
  /** Version of the format. */
  readonly version: 1;
  /** Where pools are stored: memory, or sql to survive a restart. */
  readonly persistence: 'memory' | 'sql';
  /** Thresholds and defaults of each scene. */
  readonly scenes: {
    readonly dialogue: {
      readonly deliver_threshold: number;
      readonly sink_threshold: number;
      readonly default_action: 'drop' | 'sink' | 'deliver';
      readonly message_mode: 'deliver' | 'threshold';
      readonly model_tier: 'low' | 'high' | null;
      readonly response_policy: 'respond_now' | 'clarify' | 'ack' | 'defer' | null;
      readonly dedup_window_sec: number;
      readonly max_reasons: number;
    };
    readonly group: {
      readonly deliver_threshold: number;
      readonly sink_threshold: number;
      readonly default_action: 'drop' | 'sink' | 'deliver';
      readonly message_mode: 'deliver' | 'threshold';
      readonly model_tier: 'low' | 'high' | null;
      readonly response_policy: 'respond_now' | 'clarify' | 'ack' | 'defer' | null;
      readonly dedup_window_sec: number;
      readonly max_reasons: number;
    };
    readonly tool_call: {
      readonly deliver_threshold: number;
      readonly sink_threshold: number;
      readonly default_action: 'drop' | 'sink' | 'deliver';
      readonly message_mode: 'deliver' | 'threshold';
      readonly model_tier: 'low' | 'high' | null;
      readonly response_policy: 'respond_now' | 'clarify' | 'ack' | 'defer' | null;
      readonly dedup_window_sec: number;
      readonly max_reasons: number;
    };
    readonly tool_result: {
      readonly deliver_threshold: number;
      readonly sink_threshold: number;
      readonly default_action: 'drop' | 'sink' | 'deliver';
      readonly message_mode: 'deliver' | 'threshold';
      readonly model_tier: 'low' | 'high' | null;
      readonly response_policy: 'respond_now' | 'clarify' | 'ack' | 'defer' | null;
      readonly dedup_window_sec: number;
      readonly max_reasons: number;
    };
    readonly alert: {
      readonly deliver_threshold: number;
      readonly sink_threshold: number;
      readonly default_action: 'drop' | 'sink' | 'deliver';
      readonly message_mode: 'deliver' | 'threshold';
      readonly model_tier: 'low' | 'high' | null;
      readonly response_policy: 'respond_now' | 'clarify' | 'ack' | 'defer' | null;
      readonly dedup_window_sec: number;
      readonly max_reasons: number;
    };
    readonly system: {
      readonly deliver_threshold: number;
      readonly sink_threshold: number;
      readonly default_action: 'drop' | 'sink' | 'deliver';
      readonly message_mode: 'deliver' | 'threshold';
      readonly model_tier: 'low' | 'high' | null;
      readonly response_policy: 'respond_now' | 'clarify' | 'ack' | 'defer' | null;
      readonly dedup_window_sec: number;
      readonly max_reasons: number;
    };
    readonly unknown: {
      readonly deliver_threshold: number;
      readonly sink_threshold: number;
      readonly default_action: 'drop' | 'sink' | 'deliver';
      readonly message_mode: 'deliver' | 'threshold';
      readonly model_tier: 'low' | 'high' | null;
      readonly response_policy: 'respond_now' | 'clarify' | 'ack' | 'defer' | null;
      readonly dedup_window_sec: number;
      readonly max_reasons: number;
    };
  };
  /** Weights of the score. */
  readonly scoring: {
    /** Whole words, case-insensitive, and the weight of each. */
    readonly keywords: {
      readonly [k: string]: number;
    };
    readonly question: number;
    readonly long_text: number;
    readonly bot_mention: number;
    readonly whitelist: number;
    readonly long_text_chars: number;
    readonly base: {
      readonly dialogue: number;
      readonly group: number;
      readonly system: number;
      readonly tool_call: number;
      readonly tool_result: number;
      readonly alert: number;
      readonly unknown: number;
    };
  };
  /** Names of the agent, without @. */
  readonly bot_names: readonly string[];
  /** Actors whose group messages receive the whitelist weight. */
  readonly actor_whitelist: readonly string[];
  /** Maximum number of remembered contents. */
  readonly dedup: {
    readonly max_entries: number;
  };
  /** Overrides set by the operator. */
  readonly overrides: {
    /** Sinks everything except messages from agents and the platform's own observations. */
    readonly emergency_mode: boolean;
    /** Turns use low_model. */
    readonly force_low_model: boolean;
    /**
     * Sessions whose messages are dropped, by key (console:ann:demo) or by the name that messages give (demo, of any user).
     */
    readonly drop_sessions: readonly string[];
    /** Actors whose messages are dropped. */
    readonly drop_actors: readonly string[];
    /** Sessions whose messages pass all thresholds, named as in drop_sessions. */
    readonly deliver_sessions: readonly string[];
    /** Actors whose messages pass all thresholds. */
    readonly deliver_actors: readonly string[];
  };
  /** Budget hints for turns. */
  readonly budgets: {
    readonly thresholds: {
      readonly high: number;
      readonly medium: number;
    };
    readonly profiles: {
      readonly tiny: {
        readonly time_ms: number;
        readonly max_tokens: number;
        readonly max_parallel: number;
        readonly evidence_allowed: boolean;
        readonly max_tool_calls: number;
      };
      readonly normal: {
        readonly time_ms: number;
        readonly max_tokens: number;
        readonly max_parallel: number;
        readonly evidence_allowed: boolean;
        readonly max_tool_calls: number;
      };
      readonly deep: {
        readonly time_ms: number;
        readonly max_tokens: number;
        readonly max_parallel: number;
        readonly evidence_allowed: boolean;
        readonly max_tool_calls: number;
      };
    };
  };
  /** When repeated drops raise an alert. */
  readonly drop_escalation: {
    readonly window_sec: number;
    readonly burst_threshold: number;
    readonly consecutive_threshold: number;
    readonly cooldown_sec: number;
  };
  /** When the process counts as overloaded. */
  readonly overload: {
    readonly bus_on: number;
    readonly bus_off: number;
    readonly lag_on_ms: number;
    readonly lag_off_ms: number;
    readonly cooldown_sec: number;
  };
  /** When a failing adapter is put on cooldown. */
  readonly nociception: {
    readonly window_sec: number;
    readonly burst: number;
    readonly adapter_cooldown_sec: number;
    readonly drop_burst: number;
    readonly fanout_suppress_sec: number;
  };
  /** Which overrides agents may suggest, and for how long. */
  readonly system_reflex: {
    readonly allow_agent_suggestions: boolean;
    readonly whitelist: readonly ('force_low_model' | 'emergency_mode')[];
    readonly default_ttl_sec: number;
    readonly max_ttl_sec: number;
    readonly cooldown_sec: number;
  };
  /** Limits that break loops between agents. */
  readonly loop_guard: {
    /** Source names of agents that may start a turn in another session. */
    readonly allow: readonly string[];
    readonly max_hops: number;
  };
  /** Model used when a decision selects the low tier. */
  readonly low_model: {
    readonly provider_id: string;
    readonly model: string;
  } | null;
  /** Offers agents the tool suggest_tuning. */
  readonly expose_tuning_tool: boolean;
}
