export type ObservationType = 'message' | 'world_data' | 'alert' | 'control' | 'schedule' | 'system';

export type QualityFlag =
  | 'EMPTY_CONTENT'
  | 'MISSING_IDENTITY'
  | 'MISSING_SESSION'
  | 'SUSPECT_INJECTION'
  | 'DUPLICATE'
  | 'TRUNCATED'
  | 'UNSUPPORTED'
  | 'LOW_CONFIDENCE';

export interface ObservationActor {
  readonly actor_id?: string;
  readonly actor_type: 'user' | 'system' | 'service' | 'unknown';
  readonly display_name?: string;
  readonly tenant_id?: string;
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The event type of the conversation core. Frozen once published. */
export interface Observation {
  /** 32 lower-case hex digits. */
  readonly obs_id: string;
  readonly obs_type: ObservationType;
  /** `<kind>:<id>`, e.g. `ws:chat`, `cron:<job>`, `agent:speaker`. */
  readonly source_name: string;
  readonly source_kind: 'external' | 'internal';
  readonly ingress: 'api' | 'ws' | 'cron' | 'channel' | 'timer' | 'ingest' | 'adapter' | 'internal';
  /** RFC 3339 UTC with milliseconds: the event's own time. */
  readonly timestamp: string;
  readonly received_at: string;
  readonly session_key?: string;
  readonly actor?: ObservationActor;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly evidence?: Readonly<Record<string, unknown>>;
  /** Sorted ascending. */
  readonly quality_flags: readonly QualityFlag[];
  /** 0 to 1. */
  readonly confidence: number | null;
  readonly tags: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
  /** 32 hex digits. */
  readonly trace_id: string;
  readonly correlation_id: string;
  /** 0, or the parent's plus 1. */
  readonly hop: number;
  readonly parent_obs_id: string | null;
}

/** The members of an event that its producer sets; the platform fills in the rest when it publishes. */
export interface ObservationInput {
  /** `message` when absent. */
  readonly obs_type?: ObservationType | undefined;
  readonly source_name: string;
  /** `external` when absent. */
  readonly source_kind?: Observation['source_kind'] | undefined;
  /** `internal` when absent. */
  readonly ingress?: Observation['ingress'] | undefined;
  /** RFC 3339 with an offset or `Z`; now when absent. */
  readonly timestamp?: string | undefined;
  readonly session_key?: string | undefined;
  readonly actor?: Partial<ObservationActor> | undefined;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly evidence?: Readonly<Record<string, unknown>> | undefined;
  /** Flags that the producer knows of, e.g. `TRUNCATED`. */
  readonly quality_flags?: readonly QualityFlag[] | undefined;
  readonly confidence?: number | null | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly trace_id?: string | undefined;
  readonly correlation_id?: string | undefined;
  readonly hop?: number | undefined;
  readonly parent_obs_id?: string | null | undefined;
}

export interface ObservationError {
  /** Path below the observation, e.g. `payload.schema_id`. */
  readonly path: string;
  readonly code: 'required' | 'naive_datetime' | 'range' | 'payload_mismatch' | 'enum' | 'too_long' | 'reserved';
  readonly message: string;
}
