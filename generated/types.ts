// Generated from openapi.yaml by `npm run generate`. Do not edit.

export interface paths {
    "/categories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List all categories
         * @description Gives every category, oldest first (by id), in one array. A category
         *     whose creation was acknowledged before the request was sent is in it.
         *
         *     Ask again without loading an unchanged list again: keep the body with
         *     its `ETag`, send that tag as `If-None-Match`, and a `304` without a body
         *     means that what you keep is still the list. A list that is too long for
         *     the service to hold as a whole (some megabytes) is streamed: it has no
         *     `ETag`, and when something fails on the way its connection ends
         *     before the body does.
         *
         *     With `Accept-Encoding: br` or `gzip`, a list above 1 KiB comes
         *     compressed, unless it is streamed. Most HTTP clients do that for you.
         */
        get: operations["listCategories"];
        put?: never;
        /**
         * Create a category
         * @description Stores a category and gives it an id. Names are not unique: two
         *     requests with the same name make two categories. After a 201 the
         *     category is stored durably and every later list holds it.
         */
        post: operations["createCategory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message
         * @description Queues a message. A 202 means that it is stored durably and waits for
         *     its consumer; it does not show what becomes of it. A deployment may
         *     also serve the quickstart at its own address, see the list of
         *     servers.
         */
        post: operations["createMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A category as a client sends it */
        NewCategory: {
            /** @description Category name; not unique */
            name: string;
            /** @description Short description of the category; may be empty, may be left out, may not be null */
            description?: string;
        };
        /** @description A category as the service stores it */
        Category: {
            /**
             * Format: int64
             * @description Unique identifier assigned by the service on creation; never sent by the client.
             *     Up to 2^63-1: parse it as a 64-bit integer where your language has one.
             */
            id: bigint;
            /** @description Category name */
            name: string;
            /** @description Short description of the category; absent when it has none */
            description?: string;
        };
        /** @description A message as a client sends it */
        NewMessage: {
            /** @description The text of the message */
            message: string;
        };
        /** @description A message as the service queued it */
        Message: {
            /**
             * Format: uuid
             * @description Unique identifier assigned by the service; a UUID of version 7, so ids sort by time
             */
            id: string;
            /** @description The text of the message, as it was sent */
            message: string;
            /** @description Where the message is; an open set, at present always `queued` */
            status: string;
            /**
             * Format: date-time
             * @description When the message was queued, in UTC, to the millisecond
             */
            createdAt: string;
        };
        /** @description The body of every response that is not a success */
        Error: {
            /** @description Machine-readable error code; an open set, its present values are listed in the guide above */
            code: string;
            /** @description Human-readable description that says what to change */
            message: string;
            /** @description The HTTP status code of the response */
            status: number;
        };
    };
    responses: {
        /** @description The body is missing, is not valid JSON, or breaks a rule of the schema */
        BadRequest: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The API key is missing or not valid */
        Unauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                "WWW-Authenticate": components["headers"]["WwwAuthenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is larger than this deployment reads */
        PayloadTooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description Too many requests: with one key, or without a valid key from one
         *     address. Headers tell the limit and when it ends.
         */
        TooManyRequests: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A fault of the service */
        InternalError: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The service cannot reach its database, or has too much to do */
        Unavailable: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description The service cannot reach its database, or has too much to do. The code
         *     `unavailable` comes with Retry-After: nothing was stored. The code
         *     `outcome_unknown` comes with X-Should-Retry and without Retry-After:
         *     what was sent may have been stored.
         */
        UnavailableOrOutcomeUnknown: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                RateLimit: components["headers"]["RateLimit"];
                "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                "Retry-After": components["headers"]["RetryAfter"];
                "X-Should-Retry": components["headers"]["ShouldRetry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /**
         * @description Identifies the request in the service's logs
         * @example 3f0c7a52-6f0e-4a43-9d0f-6f1f2f6f7a10
         */
        RequestId: string;
        /**
         * @description The challenge of RFC 6750; holds `error="invalid_token"` when a key was sent
         * @example Bearer realm="pet-categories"
         */
        WwwAuthenticate: string;
        /**
         * @description Seconds to wait before sending the request again
         * @example 1
         */
        RetryAfter: number;
        /**
         * @description `false` with the code `outcome_unknown`: a client must not send the
         *     request again by itself. Some generated SDKs read this header. Absent
         *     otherwise.
         * @example false
         */
        ShouldRetry: string;
        /**
         * @description What is left of the limit named in RateLimit-Policy: `r` requests, for
         *     the next `t` seconds (draft-ietf-httpapi-ratelimit-headers). Absent when
         *     the deployment has no such limit.
         * @example "key";r=59999;t=60
         */
        RateLimit: string;
        /**
         * @description The limit that the request counts against: `q` requests in `w` seconds,
         *     for one `key`, or for one address whose requests were `refused`.
         *     Absent when the deployment has no such limit.
         * @example "key";q=60000;w=60
         */
        RateLimitPolicy: string;
        /**
         * @description Strong validator of the list in its content coding; absent when the
         *     list is streamed
         * @example "k7kVvJ8Uq0m2cD1wq5r8n3oYtB4xSgZlE6hPfAaTjLw"
         */
        ListETag: string;
        /**
         * @description The client may keep the list for itself, and asks with If-None-Match before each use
         * @example private, no-cache
         */
        ListCacheControl: string;
        /**
         * @description The request headers that the response depends on
         * @example Authorization, Accept-Encoding
         */
        ListVary: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listCategories: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description `ETag` values of lists that you keep, separated by commas, or `*`
                 *     (RFC 9110, section 13.1.2). Compared without regard to `W/`.
                 */
                "If-None-Match"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All categories, oldest first; an empty array when there are none */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    ETag: components["headers"]["ListETag"];
                    "Cache-Control": components["headers"]["ListCacheControl"];
                    Vary: components["headers"]["ListVary"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Category"][];
                };
            };
            /** @description The list is still one of those that If-None-Match names */
            304: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    ETag: components["headers"]["ListETag"];
                    "Cache-Control": components["headers"]["ListCacheControl"];
                    Vary: components["headers"]["ListVary"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Unauthorized"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createCategory: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The category to create */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewCategory"];
            };
        };
        responses: {
            /** @description The category as it was stored */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Category"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            413: components["responses"]["PayloadTooLarge"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["UnavailableOrOutcomeUnknown"];
        };
    };
    createMessage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** @description The message to send */
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMessage"];
            };
        };
        responses: {
            /** @description The message as it was queued */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
            400: components["responses"]["BadRequest"];
            401: components["responses"]["Unauthorized"];
            413: components["responses"]["PayloadTooLarge"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["UnavailableOrOutcomeUnknown"];
        };
    };
}
