# The image of the service. .ci/release/build builds it reproducibly.
# Another base: --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

# On the platform of the builder: its result runs on each.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=optional
COPY . .
# Names what the image is built from, as deploy/roll does.
RUN echo "$(node -p "require('./package.json').version")-$(find . -path ./node_modules -prune -o -type f -print0 \
  | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | head -c 12)" >VERSION
RUN npm run build && npm prune --omit=dev --omit=optional \
 && chmod +x dist/src/commands/keys.js && chmod -R a+rX package.json VERSION dist
# Without what production never loads. Licenses stay.
RUN find node_modules -iname 'licen[cs]e.md' -execdir mv {} LICENSE \; \
 && find node_modules -type f \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' -o -name '*.md' \
    -o -path '*/test/*' -o -path '*/tests/*' -o -path '*/build/esm/*' -o -path '*/build/esnext/*' \) -delete \
 && find node_modules -type d -empty -delete

FROM ${NODE_IMAGE}
# Production needs no package manager.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn* \
 && ln -s /app/dist/src/commands/keys.js /usr/local/bin/pet-categories-keys
WORKDIR /app
COPY --from=build /app/package.json /app/VERSION ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
ENV NODE_ENV=production HOST=0.0.0.0
USER 1000:1000
EXPOSE 3000
# Without a shell, and without the proxy that NODE_USE_ENV_PROXY would use. The proxy and Kubernetes have checks of their
# own, so that it may be rare after the start.
HEALTHCHECK --interval=15s --timeout=5s --start-period=2m --start-interval=1s CMD ["node", "-e", \
  "http.get({ host: '127.0.0.1', port: process.env.PORT || 3000, path: '/readyz', agent: false }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))"]
# The service is process 1: it handles signals before it loads the rest.
ENTRYPOINT []
CMD ["node", "dist/src/main.js"]
ARG NODE_IMAGE
ARG BASE_NAME=${NODE_IMAGE%@*}
# Empty if the base is named without its digest.
ARG BASE_DIGEST=${NODE_IMAGE#$BASE_NAME}
ARG VERSION=unknown
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="Pet Categories" \
      org.opencontainers.image.description="HTTP API for the pets of a shop, their categories and their orders" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.base.name="${BASE_NAME}" \
      org.opencontainers.image.base.digest="${BASE_DIGEST#@}"
