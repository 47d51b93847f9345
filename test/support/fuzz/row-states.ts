import type { ApiClient } from '../../../src/testing/api-client.js';
import type { TestService } from '../../../src/testing/test-service.js';
import { fail, transcribe } from '../state/recording-states.js';

type Change = (service: TestService, id: string, owner: ApiClient) => Promise<unknown>;

/** What a row can be brought to before a request meets it; rows of other kinds are as they were made. */
const STATES: Record<string, Change[]> = {
  recording_id: [
    async () => undefined,
    (service, id) => transcribe(service, id),
    (service, id) => fail(service, id),
    correct,
  ],
};

async function correct(service: TestService, id: string, owner: ApiClient): Promise<void> {
  await transcribe(service, id);
  await owner.put(`/v1/recordings/${id}/transcription`, { text: 'hello here' }).expect(200);
}

/** How many states the row that a path parameter names can be in. */
export const statesOf = (parameter: string): number => STATES[parameter]?.length ?? 1;

export async function bringTo(
  state: number,
  parameter: string,
  ...[service, id, owner]: Parameters<Change>
): Promise<void> {
  await STATES[parameter]?.[state]?.(service, id, owner);
}
