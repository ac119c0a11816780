import { z } from "zod";
import { idPage } from "../validation/pagination.ts";

export const rejectedItemsInput = z.object(idPage());
