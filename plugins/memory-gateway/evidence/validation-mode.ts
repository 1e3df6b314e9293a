export interface ValidationFlags {
  /** In strict mode evidence is always checked. */
  readonly enforceInStrictMode: boolean;
  /** Evidence is checked in compat mode too, and in strict mode where that is not enforced. */
  readonly validateEvidence: boolean;
}

export interface ValidationMode {
  readonly mode: 'strict' | 'compat';
  /** Whether the evidence is checked. */
  readonly isOn: boolean;
  readonly reason: 'strict_enforced' | 'strict_env_override' | 'compat_default';
}

/** Whether evidence is checked, and why. Any mode but `strict` (in any case) is `compat`. */
export function validationMode(evidenceMode: string, flags: ValidationFlags): ValidationMode {
  if (evidenceMode.toLowerCase() !== 'strict') {
    return { mode: 'compat', isOn: flags.validateEvidence, reason: 'compat_default' };
  }
  return flags.enforceInStrictMode
    ? { mode: 'strict', isOn: true, reason: 'strict_enforced' }
    : { mode: 'strict', isOn: flags.validateEvidence, reason: 'strict_env_override' };
}
