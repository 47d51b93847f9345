import type { Request } from 'express';
import type { Principal } from '../../access/principal.js';

/** Who calls a tool, and in which request. */
export interface ToolCaller {
  principal: Principal;
  request: Request;
}
