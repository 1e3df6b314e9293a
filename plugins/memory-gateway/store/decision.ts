import type { ValidationMode } from '../evidence/validation-mode.js';
import type { StoreRequest } from './store-request.js';

/** What one stage of the pipeline said. */
export interface Step {
  readonly stage: string;
  readonly verdict: 'pass' | 'redirect' | 'reject';
  readonly reason?: string;
}

/** What a stage can say beside passing. `reason` is the audit reason; `explanation` the middle of a sentence. */
export interface Objection {
  readonly kind: 'redirect' | 'reject';
  readonly reason: string;
  readonly explanation: string;
  /** The reason as a message shows it; the audit reason when absent. */
  readonly shown?: string;
}

export interface Redirect extends Objection {
  readonly kind: 'redirect';
  readonly space: string;
}

/** How the evidence was looked at. */
export interface Validation extends ValidationMode {
  readonly findings: readonly string[];
}

/** What becomes of a store request, before anything is written. */
export interface StoreDecision {
  /** As asked, but for secrets that were taken out. */
  readonly request: StoreRequest;
  readonly steps: readonly Step[];
  /** Null for a rejected memory. */
  readonly finalSpace: string | null;
  /** The audit reason. */
  readonly reason: string;
  /** Why it is not done as asked; null when it is. */
  readonly objection: Objection | null;
  readonly validation: Validation | null;
  readonly warnings: readonly string[];
  /** Secrets that the memory holds or held. */
  readonly secrets: number;
  /** Where they are or were: `the content`, or the JSON Pointer of an argument's member. */
  readonly secretPlaces: readonly string[];
  readonly isRedacted: boolean;
  /** An unknown actor who becomes a user with the write. */
  readonly newUser: string | null;
  readonly keepsDuplicates: boolean;
  /** Version of the settings that decided; null when none were needed. */
  readonly settingsVersion: number | null;
}
