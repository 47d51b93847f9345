import { audioType } from './audio-type';

/** Why there is no sound to record. */
export interface MicrophoneProblem {
  title: string;
  hint: string;
}

const INSECURE: MicrophoneProblem = {
  title: 'This page cannot use the microphone',
  hint: 'Browsers record only on pages with https, or on this machine’s own address (localhost). Uploading files works here too.',
};

const UNSUPPORTED: MicrophoneProblem = {
  title: 'This browser cannot record',
  hint: 'Use a current Chrome, Edge, Firefox or Safari. Uploading files works here too.',
};

const DENIED: MicrophoneProblem = {
  title: 'The microphone is blocked for this page',
  hint: 'Allow it in the settings of this site (the symbol beside the address), then record again.',
};

const MISSING: MicrophoneProblem = {
  title: 'No microphone was found',
  hint: 'Connect one, or switch it on in the settings of your system, then record again.',
};

const BUSY: MicrophoneProblem = {
  title: 'No sound from the microphone',
  hint: 'Another program may be using it. Close that program, or choose another microphone.',
};

export const DISCONNECTED: MicrophoneProblem = {
  title: 'The microphone was disconnected',
  hint: 'What was recorded until then is kept below.',
};

/** What no permission can help, known before the person tries. */
export function standingProblem(): MicrophoneProblem | null {
  if (!window.isSecureContext) return INSECURE;
  return navigator.mediaDevices && audioType() ? null : UNSUPPORTED;
}

/** @param deviceId empty for the system's choice */
export async function openMicrophone(deviceId: string): Promise<MediaStream> {
  const device = deviceId === '' ? {} : { deviceId: { exact: deviceId } };
  const audio = { ...device, channelCount: { ideal: 1 }, autoGainControl: true, noiseSuppression: true };
  return await navigator.mediaDevices.getUserMedia({ audio });
}

export function microphoneProblemOf(error: unknown): MicrophoneProblem {
  const name = error instanceof DOMException ? error.name : '';
  if (name === 'NotAllowedError' || name === 'SecurityError') return DENIED;
  if (name === 'NotFoundError' || name === 'OverconstrainedError') return MISSING;
  if (name === 'NotReadableError' || name === 'AbortError') return BUSY;
  return { title: 'The recording could not start', hint: error instanceof Error ? error.message : String(error) };
}

/** Whether the person blocked the microphone before; browsers that do not tell are asked by recording. */
export async function isMicrophoneBlocked(onChange: () => void, signal: AbortSignal): Promise<boolean> {
  try {
    const permission = await navigator.permissions.query({ name: 'microphone' });
    permission.addEventListener('change', onChange, { signal });
    return permission.state === 'denied';
  } catch {
    return false;
  }
}

export const BLOCKED = DENIED;

/** The microphones by name. Their names are empty until the person has allowed one. */
export async function microphones(): Promise<MediaDeviceInfo[]> {
  const devices = (await navigator.mediaDevices?.enumerateDevices().catch(() => [])) ?? [];
  return devices.filter(({ kind, label }) => kind === 'audioinput' && label !== '');
}
