// Generated from openapi.yaml by `npm run generate`. Do not edit.

export interface paths {
    "/toys/{toyId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["getToy"];
        put?: never;
        post?: never;
        delete: operations["deleteToy"];
        options?: never;
        head?: never;
        patch: operations["updateToy"];
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Toy: {
            /** Format: uuid */
            id: string;
            name: string;
            /** Format: int64 */
            order: bigint;
            isSold: boolean;
            note?: string;
            /** Format: date-time */
            soldAt?: string;
        };
        ToyChanges: {
            name?: string;
            /** Format: int64 */
            order?: bigint;
            isSold?: boolean;
            note?: string | null;
            /** Format: date-time */
            soldAt?: string | null;
        };
        Error: {
            code: string;
            message: string;
            status: number;
        };
    };
    responses: {
        /** @description The toy */
        Toy: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Toy"];
            };
        };
        /** @description An error */
        Error: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        ToyId: string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getToy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                toyId: components["parameters"]["ToyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Toy"];
            404: components["responses"]["Error"];
        };
    };
    deleteToy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                toyId: components["parameters"]["ToyId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The toy is deleted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            404: components["responses"]["Error"];
            409: components["responses"]["Error"];
        };
    };
    updateToy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                toyId: components["parameters"]["ToyId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToyChanges"];
            };
        };
        responses: {
            200: components["responses"]["Toy"];
            404: components["responses"]["Error"];
        };
    };
}
