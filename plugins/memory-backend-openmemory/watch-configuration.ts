import { type Alert, isCodedError } from 'mortise/sdk';
import { isMisconfigured } from './failure.js';

/** Passes the outcome of a call on. Raises one alert when the server refuses what it was configured for, and none again before a call succeeded. */
export type ConfigurationWatch = <R>(call: () => Promise<R>) => Promise<R>;

export function watchConfiguration(raise: (alert: Alert) => void): ConfigurationWatch {
  let isRaised = false;
  return async (call) => {
    try {
      const result = await call();
      isRaised = false;
      return result;
    } catch (error) {
      if (!isRaised && isMisconfigured(error) && isCodedError(error)) {
        isRaised = true;
        raise({
          source: 'plugin:memory-backend-openmemory',
          severity: 'high',
          code: 'memory_backend.misconfigured',
          message: `${error.message}. Memories wait until OPENMEMORY_BASE_URL, OPENMEMORY_API_KEY or MORTISE_OPENMEMORY_DIALECT is put right.`,
        });
      }
      throw error;
    }
  };
}
