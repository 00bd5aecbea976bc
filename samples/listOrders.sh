list_orders() {
  headers=$(mktemp)
  next='?limit=100'
  while [ -n "$next" ]; do
    curl --fail-with-body -sS "https://api.petstore.example/v1/store/orders$next" \
      -H "Authorization: Bearer $API_KEY" \
      -D "$headers" -w '\n' || return
    next=$(sed -n 's/^[Ll]ink: <\(.*\)>; rel="next".*/\1/p' "$headers")
  done
}
list_orders
