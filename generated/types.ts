// Written by `npm run generate`. Do not edit.

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
         * @description Returns all categories in one array, oldest first (by id), including
         *     every category whose creation was acknowledged before this request.
         *     Lists of 1 KiB or more are compressed if `Accept-Encoding` allows `gzip`.
         *
         *     A list over the limit of the deployment, by default 32 MiB, gets 507.
         */
        get: operations["listCategories"];
        put?: never;
        /**
         * Create a category
         * @description Stores a category and assigns its id. Names are not unique: two
         *     requests with the same name create two categories. After a 201, the
         *     category is durable and part of every later list.
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
         * @description Queues a message. A 202 means that the message is durable and waits for
         *     its consumer; it does not confirm processing. Some deployments also serve
         *     this operation at `https://quickstart.petstore.example/v1`.
         */
        post: operations["createMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List pets, page by page
         * @description Returns pets in one array, oldest first (by id), at most `limit` of
         *     them. With `status`, returns only pets of that status.
         *
         *     Do not use `after` to wait for new pets: a pet gets its id before it is
         *     stored, so it may appear behind a page that you have read.
         */
        get: operations["listPets"];
        put?: never;
        /**
         * Create a pet
         * @description Stores a pet and assigns its id. Its category must exist. Names are not
         *     unique. After a 201, the pet is durable and part of later lists.
         */
        post: operations["createPet"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pets/{petId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a pet
         * @deprecated
         * @description Returns one pet. **Deprecated:** it works until the date in the header
         *     `Sunset` of its responses. After that, list the pets with `limit=1`, and
         *     with `after` one less than the id. If the page does not have this pet,
         *     there is none.
         */
        get: operations["getPet"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/store/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List orders, page by page (beta)
         * @description Returns orders in one array, oldest first (by id), at most `limit` of
         *     them. Another system of the shop writes orders. The pages are those of
         *     listPets. **Beta:** filters may be added.
         */
        get: operations["listOrders"];
        put?: never;
        post?: never;
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
        /**
         * Format: int64
         * @description Unique; has gaps
         */
        Id: number;
        /** @description A category to create */
        NewCategory: {
            /** @description Category name; not unique */
            name: string;
            /** @description Short description of the category. It may be empty, but not null; omit it if there is none. */
            description?: string;
        };
        /** @description A stored category */
        Category: {
            id: components["schemas"]["Id"];
            /** @description Category name */
            name: string;
            /** @description Short description of the category; absent if there is none */
            description?: string;
        };
        /** @description A pet to create */
        NewPet: {
            /** @description Name of the pet; not unique */
            name: string;
            categoryId: components["schemas"]["Id"];
            /**
             * @description Whether the pet is for sale
             * @default available
             * @enum {string}
             */
            status: "available" | "pending" | "sold";
        };
        /** @description A stored pet */
        Pet: {
            id: components["schemas"]["Id"];
            /** @description Name of the pet */
            name: string;
            categoryId: components["schemas"]["Id"];
            /**
             * @description Whether the pet is for sale
             * @enum {string}
             */
            status: "available" | "pending" | "sold";
        };
        /** @description An order of a pet */
        Order: {
            id: components["schemas"]["Id"];
            petId: components["schemas"]["Id"];
            /**
             * Format: int32
             * @description At least 1
             */
            quantity: number;
            /**
             * Format: date-time
             * @description Time of shipping, in UTC with milliseconds; absent while it is not planned
             */
            shipDate?: string;
            /** @description Whether the order is complete */
            complete: boolean;
        };
        /** @description A message to send */
        NewMessage: {
            /** @description Text of the message */
            message: string;
        };
        /** @description A queued message */
        Message: {
            /**
             * Format: uuid
             * @description Unique identifier, assigned by the service; a UUID of version 7, so ids sort by time
             */
            id: string;
            /** @description Text of the message */
            message: string;
            /** @description State of the message, currently always `queued`; more values may follow */
            status: string;
            /**
             * Format: date-time
             * @description Time when the message was queued, in UTC with milliseconds
             */
            createdAt: string;
        };
        /** @description The body of every error response; `info.description` lists the codes */
        Error: {
            /** @description Machine-readable error code; more values may follow */
            code: string;
            /** @description For people; it may change */
            message: string;
            /**
             * Format: int32
             * @description The HTTP status
             */
            status: number;
        };
    };
    responses: {
        /** @description A query parameter or a header breaks a rule, which the message names */
        BadQuery: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The API key is missing or invalid */
        Unauthorized: {
            headers: {
                "WWW-Authenticate": components["headers"]["WwwAuthenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description The API key is valid, but lacks the scope that the operation needs. Ask
         *     the operator for another API key: its scopes do not change.
         */
        Forbidden: {
            headers: {
                "WWW-Authenticate": components["headers"]["ScopeChallenge"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Another request with this Idempotency-Key is in progress; send this one again */
        IdempotencyKeyInUse: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is larger than this deployment accepts */
        PayloadTooLarge: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description This Idempotency-Key was used with another body */
        IdempotencyKeyReused: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Too many requests with API keys of one name, or without a valid one from one address */
        TooManyRequests: {
            headers: {
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
                "Retry-After": components["headers"]["RetryAfter"];
                "X-Should-Retry": components["headers"]["ShouldRetry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description The service cannot reach its database, or is overloaded; the request had
         *     no effect
         */
        Unavailable: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /**
         * @description The service cannot reach its database, or is overloaded. `unavailable`
         *     has Retry-After, and nothing was stored. `outcome_unknown` has
         *     X-Should-Retry, and the request may have taken effect: send it again
         *     with the same Idempotency-Key.
         */
        UnavailableOrOutcomeUnknown: {
            headers: {
                "Retry-After": components["headers"]["RetryAfter"];
                "X-Should-Retry": components["headers"]["ShouldRetry"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /** @description Maximum number of items in the page */
        Limit: number;
        /** @description The `id` of the last item of the previous page; omit it for the first page */
        After: number;
        /**
         * @description A unique value for each thing to create, such as a UUID; retries repeat
         *     it: 1 to 255 visible ASCII characters
         *     (draft-ietf-httpapi-idempotency-key-header)
         */
        IdempotencyKey: string;
        /** @description The `ETag` of your copy, or several, or `*` (RFC 9110, section 13.1.2) */
        IfNoneMatch: string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description Identifies the request in the logs of the service: yours, if it has 1 to
         *     128 letters, digits, `.`, `_`, `~` or `-`, otherwise a new one.
         * @example 3f0c7a52-6f0e-4a43-9d0f-6f1f2f6f7a10
         */
        RequestId: string;
        /**
         * @description Challenge (RFC 6750), with `error="invalid_token"` if an API key was sent
         * @example Bearer realm="pet-categories"
         */
        WwwAuthenticate: string;
        /**
         * @description Challenge (RFC 6750), with the scope that the operation needs
         * @example Bearer realm="pet-categories", error="insufficient_scope", scope="categories:write"
         */
        ScopeChallenge: string;
        /**
         * @description Seconds to wait before a retry
         * @example 1
         */
        RetryAfter: number;
        /**
         * @description Whether to repeat a request that may have had an effect. `false` for a
         *     POST without an Idempotency-Key, because it could create twice; `true`
         *     for every other request. Some generated SDKs obey this header. Absent
         *     if the request had no effect.
         * @example true
         */
        ShouldRetry: boolean;
        /**
         * @description `true` if an earlier request with this Idempotency-Key created the
         *     thing, otherwise absent
         * @example false
         */
        Replayed: boolean;
        /**
         * @description What remains of the limit: `r` requests in the next `t` seconds
         *     (draft-ietf-httpapi-ratelimit-headers)
         * @example "key";r=59999;t=60
         */
        RateLimit: string;
        /**
         * @description The limit of each replica: `q` requests in `w` seconds, for all API keys
         *     of one name
         * @example "key";q=60000;w=60
         */
        RateLimitPolicy: string;
        /**
         * @description The next page (RFC 8288), as a relative URL such as
         *     `<?limit=20&after=20>; rel="next"`; absent from the last page
         * @example
         */
        NextPage: string;
        /**
         * @description Time of the deprecation, in Unix seconds (RFC 9745)
         * @example @1795305600
         */
        Deprecation: string;
        /**
         * @description Time after which the operation may stop working (RFC 8594)
         * @example Thu, 05 Dec 2030 00:00:00 GMT
         */
        Sunset: string;
        /**
         * @description The operation to use instead (RFC 5829), as a relative URL
         * @example <../pets>; rel="successor-version"
         */
        Successor: string;
        /**
         * @description Weak validator of the list, in any content coding
         * @example W/"k7kVvJ8Uq0m2cD1wq5r8n3oYtB4xSgZlE6hPfAaTjLw"
         */
        ListETag: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listCategories: {
        parameters: {
            query?: never;
            header?: {
                /** @description The `ETag` of your copy, or several, or `*` (RFC 9110, section 13.1.2) */
                "If-None-Match"?: components["parameters"]["IfNoneMatch"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All categories, oldest first; an empty array if there are none */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    ETag: components["headers"]["ListETag"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Category"][];
                };
            };
            /** @description Your cached copy is current */
            304: {
                headers: {
                    ETag: components["headers"]["ListETag"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A query parameter or a header breaks a rule, which the message names */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
            /** @description The list is larger than this deployment can send; a retry does not help */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createCategory: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A unique value for each thing to create, such as a UUID; retries repeat
                 *     it: 1 to 255 visible ASCII characters
                 *     (draft-ietf-httpapi-idempotency-key-header)
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewCategory"];
            };
        };
        responses: {
            /** @description The stored category */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    "Idempotent-Replayed": components["headers"]["Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Category"];
                };
            };
            /** @description The body or a header breaks a rule, which the message names */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["IdempotencyKeyInUse"];
            413: components["responses"]["PayloadTooLarge"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["UnavailableOrOutcomeUnknown"];
        };
    };
    createMessage: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A unique value for each thing to create, such as a UUID; retries repeat
                 *     it: 1 to 255 visible ASCII characters
                 *     (draft-ietf-httpapi-idempotency-key-header)
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMessage"];
            };
        };
        responses: {
            /** @description The queued message */
            202: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    "Idempotent-Replayed": components["headers"]["Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
            /** @description The body or a header breaks a rule, which the message names */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["IdempotencyKeyInUse"];
            413: components["responses"]["PayloadTooLarge"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["UnavailableOrOutcomeUnknown"];
        };
    };
    listPets: {
        parameters: {
            query: {
                /** @description Maximum number of items in the page */
                limit: components["parameters"]["Limit"];
                /** @description The `id` of the last item of the previous page; omit it for the first page */
                after: components["parameters"]["After"];
                /** @description Return only pets of this status; omit it for pets of any status */
                status?: "available" | "pending" | "sold";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of pets, oldest first; an empty array if there are none */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    Link: components["headers"]["NextPage"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pet"][];
                };
            };
            400: components["responses"]["BadQuery"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    createPet: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A unique value for each thing to create, such as a UUID; retries repeat
                 *     it: 1 to 255 visible ASCII characters
                 *     (draft-ietf-httpapi-idempotency-key-header)
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewPet"];
            };
        };
        responses: {
            /** @description The stored pet */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    "Idempotent-Replayed": components["headers"]["Replayed"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pet"];
                };
            };
            /** @description The body or a header breaks a rule, which the message names */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            409: components["responses"]["IdempotencyKeyInUse"];
            413: components["responses"]["PayloadTooLarge"];
            422: components["responses"]["IdempotencyKeyReused"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["UnavailableOrOutcomeUnknown"];
        };
    };
    getPet: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of the pet */
                petId: components["schemas"]["Id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The pet */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    Deprecation: components["headers"]["Deprecation"];
                    Sunset: components["headers"]["Sunset"];
                    Link: components["headers"]["Successor"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pet"];
                };
            };
            /** @description The id is not a positive integer, or a header breaks a rule */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            /** @description There is no such pet */
            404: {
                headers: {
                    Deprecation: components["headers"]["Deprecation"];
                    Sunset: components["headers"]["Sunset"];
                    Link: components["headers"]["Successor"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
    listOrders: {
        parameters: {
            query: {
                /** @description Maximum number of items in the page */
                limit: components["parameters"]["Limit"];
                /** @description The `id` of the last item of the previous page; omit it for the first page */
                after: components["parameters"]["After"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of orders, oldest first; an empty array if there are none */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    RateLimit: components["headers"]["RateLimit"];
                    "RateLimit-Policy": components["headers"]["RateLimitPolicy"];
                    Link: components["headers"]["NextPage"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"][];
                };
            };
            400: components["responses"]["BadQuery"];
            401: components["responses"]["Unauthorized"];
            403: components["responses"]["Forbidden"];
            429: components["responses"]["TooManyRequests"];
            500: components["responses"]["InternalError"];
            503: components["responses"]["Unavailable"];
        };
    };
}
