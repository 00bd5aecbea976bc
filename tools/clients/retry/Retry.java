import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.UUID;
import okhttp3.Interceptor;
import okhttp3.Request;
import okhttp3.Response;

/**
 * Sends a request up to 8 times, until the response is final. A POST gets an
 * Idempotency-Key, the same for each attempt, so that it creates only once.
 */
final class Retry implements Interceptor {
  @Override
  public Response intercept(Chain chain) throws IOException {
    Request request = chain.request();
    if (request.method().equals("POST") && request.header("Idempotency-Key") == null) {
      request = request.newBuilder().header("Idempotency-Key", UUID.randomUUID().toString()).build();
    }
    for (int attempt = 1; ; attempt++) {
      double seconds = Math.pow(2, attempt) / 10;
      try {
        Response response = chain.proceed(request);
        // Fails if the connection closes before the end of the body.
        response.peekBody(Long.MAX_VALUE);
        String retryAfter = response.header("Retry-After");
        int status = response.code();
        boolean isFinal = retryAfter == null && status < 500 && status != 408 && status != 429;
        if (isFinal || attempt == 8) return response;
        response.close();
        if (retryAfter != null && retryAfter.matches("\\d{1,9}")) seconds = Math.max(seconds, Integer.parseInt(retryAfter));
      } catch (IOException error) {
        if (attempt == 8 || chain.call().isCanceled()) throw error;
      }
      try {
        Thread.sleep((long) (seconds * (1 + Math.random() / 2) * 1000));
      } catch (InterruptedException interrupted) {
        throw new InterruptedIOException();
      }
    }
  }
}
