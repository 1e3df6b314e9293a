/** The revision without handshake or session; its requests describe themselves. */
export const statelessVersion = '2026-07-28';

/** Revisions that begin with `initialize`, newest first. */
export const sessionVersions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

export const latestSessionVersion = '2025-11-25';

/** What a call without handshake, session or version header is served as. */
export const bareVersion = '2025-03-26';

export const supportedVersions: readonly string[] = [statelessVersion, ...sessionVersions];

export type Era = 'session' | 'stateless';

export function isSessionVersion(version: unknown): boolean {
  return (sessionVersions as readonly unknown[]).includes(version);
}

/** From this revision on, results carry `structuredContent` and tools an `outputSchema`. Dates compare as text. */
export function hasStructuredContent(version: string): boolean {
  return version >= '2025-06-18';
}

/** This revision opens its streams with an empty event, so that a client can resume from the very start. */
export function hasPrimingEvent(version: string): boolean {
  return version === '2025-11-25';
}
