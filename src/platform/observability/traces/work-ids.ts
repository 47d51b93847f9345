import { hash } from 'node:crypto';

/**
 * Work that waits in a table until some process takes it. Its trace follows from its row: nothing of it is stored, so it is
 * found again whatever becomes of the job in Redis
 * (docs/decisions/0045-the-trace-of-a-recording-follows-from-its-id.md).
 */
export interface QueuedWork {
  /** The UUID of the row that the whole trace is about. */
  id: string;
  /** 1 for the first; each run of the same row has a trace of its own. */
  run: number;
  /** Names the work within the trace. */
  step: string;
}

/** The step that stands for the first span of a trace, which has no parent. */
export const ROOT_STEP = 'root';

/** 32 hexadecimal digits: for the first run those of the UUID, so that an operator finds the trace by it. */
export const traceIdOf = ({ id, run }: Pick<QueuedWork, 'id' | 'run'>): string =>
  run === 1 ? id.replaceAll('-', '') : hash('sha256', `${id} ${run}`, 'hex').slice(0, 32);

/** 16 hexadecimal digits: the span that a step of a trace gets in whatever process makes it. */
export const spanIdOf = (traceId: string, step: string): string =>
  hash('sha256', `${traceId} ${step}`, 'hex').slice(0, 16);

/** The UUID whose trace this is. */
export const uuidOf = (traceId: string): string =>
  traceId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
