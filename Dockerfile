FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=optional
COPY . .
RUN npm run build && npm prune --omit=dev --omit=optional

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
RUN chmod +x dist/src/keys/cli.js && ln -s /app/dist/src/keys/cli.js /usr/local/bin/pet-categories-keys
USER node
EXPOSE 3000
CMD ["node", "dist/src/main.js"]
